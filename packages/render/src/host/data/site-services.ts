import type { MessagePort } from 'node:worker_threads'
import {
  asError,
  type CallContext,
  codeOf,
  createPortChannel,
  type Handlers,
  type ReplyOf,
  type RequestOf,
  RpcPeer,
} from '@svc/core'
import { type LoadedModule, type ModulePurge, PROTOCOL_VERSION } from '@svc/protocol'
import { siteServiceClientMethods, siteServiceMethods } from '../../contract/data-methods.ts'
import type { DataAsker, DataCache } from './data-cache.ts'
import type { PurgeOrders } from './purge-orders.ts'
import { purgeTargets } from './purge-scopes.ts'

/** A thread that is busy with code of its site may take a while. */
const ANSWER_TIMEOUT_MS = 20_000

type ThreadPeer = RpcPeer<typeof siteServiceMethods, typeof siteServiceClientMethods>

/** The site whose thread calls, as the host knows it. */
export interface ServedSite {
  readonly id: string
  readonly label: string
  readonly timeoutMs: number
  readonly swrMs: number
  /** True as long as it may share no data: its code is not in service yet. @default never */
  readonly isAhead?: () => boolean
}

/** Compiles modules of one site. */
export type CompileModules = (
  request: RequestOf<typeof siteServiceMethods.compile>,
) => Promise<ReplyOf<typeof siteServiceMethods.compile>>

/** Parts of the site services. */
interface SiteServicesOptions {
  readonly data: DataCache
  readonly orders: PurgeOrders
  readonly onProblem: (error: Error) => void
}

/** Serves the calls of a host's threads for their sites. The site, and so its label, is decided here. */
export class SiteServices {
  readonly #options: SiteServicesOptions
  /** With the ids of their sites. */
  readonly #threads = new Map<ThreadPeer, string>()

  constructor(options: SiteServicesOptions) {
    this.#options = options
  }

  /** Answers a thread over this port until the thread ends. */
  serve(site: ServedSite, port: MessagePort, compile: CompileModules): void {
    const { data, onProblem } = this.#options
    const asker: DataAsker = { ...site, owner: port }
    const peer = new RpcPeer({
      channel: createPortChannel(port),
      local: siteServiceMethods,
      handlers: { ...this.#handlersFor(asker), compile },
      remote: siteServiceClientMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'render thread',
      onProblem,
    })
    port.unref()
    this.#threads.set(peer, site.id)
    const gone = () => {
      this.#threads.delete(peer)
      data.ownerGone(port)
    }
    peer.closed.then(gone, onProblem)
  }

  /** Has all threads forget compiled modules. Resolves with how many they had; a thread that ends meanwhile has none. */
  async purgeModules(purge: ModulePurge): Promise<number> {
    const answers = await this.#ask([...this.#threads.keys()], (thread) =>
      thread.call('purgeModules', purge, { timeoutMs: ANSWER_TIMEOUT_MS }),
    )
    return answers.reduce((sum, { evicted }) => sum + evicted, 0)
  }

  /** The compiled modules of each isolate of a site. */
  async modules(site: string): Promise<LoadedModule[][]> {
    const own = [...this.#threads].filter(([, id]) => id === site).map(([thread]) => thread)
    const answers = await this.#ask(own, (thread) => thread.call('modules', undefined, { timeoutMs: ANSWER_TIMEOUT_MS }))
    return answers.map(({ modules }) => modules)
  }

  /** Writes the heap of an isolate of a site into a file. Resolves with its bytes; undefined: none runs. @throws RENDER_SNAPSHOT */
  async heapSnapshot(site: string, target: RequestOf<typeof siteServiceClientMethods.heapSnapshot>): Promise<number | undefined> {
    for (const [thread, id] of this.#threads) {
      if (id !== site) continue
      const { bytes } = await thread.call('heapSnapshot', target, { timeoutMs: Number.POSITIVE_INFINITY })
      if (bytes !== undefined) return bytes
    }
    return undefined
  }

  /** The answers of those that are not gone; what goes wrong with others is reported. */
  async #ask<Answer>(threads: readonly ThreadPeer[], ask: (thread: ThreadPeer) => Promise<Answer>): Promise<Answer[]> {
    const one = async (thread: ThreadPeer) => {
      try {
        return [await ask(thread)]
      } catch (error) {
        if (codeOf(error) !== 'CORE_PEER_GONE') this.#options.onProblem(asError(error))
        return []
      }
    }
    return (await Promise.all(threads.map(one))).flat()
  }

  #handlersFor(asker: DataAsker): Omit<Handlers<typeof siteServiceMethods>, 'compile'> {
    const { data, orders } = this.#options
    return {
      readData: async (question) => await data.read(asker, question),
      storeData: async ({ fill, tags, ttlMs }, { bytes }: CallContext) => {
        const body = bytes ?? new Uint8Array(0)
        return { isStored: await data.store(asker, fill, { tags, ttlMs }, body) }
      },
      endFill: ({ fill, outcome }) => data.endFill(asker, fill, outcome) as undefined,
      purge: async ({ tags, paths }) => (await orders.order(asker.label, purgeTargets(asker.label, tags, paths))) as undefined,
    }
  }
}
