import type { MessagePort } from 'node:worker_threads'
import { type CallContext, createPortChannel, type Handlers, RpcPeer } from '@svc/core'
import { PROTOCOL_VERSION } from '@svc/protocol'
import { siteServiceClientMethods, siteServiceMethods } from '../../thread/data/data-methods.ts'
import type { DataAsker, DataCache } from './data-cache.ts'
import type { PurgeOrders } from './purge-orders.ts'
import { purgeTargets } from './purge-scopes.ts'

/** What the host knows of a site whose thread asks. */
export interface ServedSite {
  readonly label: string
  readonly timeoutMs: number
  readonly swrMs: number
}

/** What site services are made of. */
export interface SiteServicesOptions {
  readonly data: DataCache
  readonly orders: PurgeOrders
  readonly onProblem: (error: Error) => void
}

/** What the threads of a host ask of it for their sites. Which site, and so which label, is decided here. */
export class SiteServices {
  readonly #options: SiteServicesOptions

  constructor(options: SiteServicesOptions) {
    this.#options = options
  }

  /** Answers a thread over this port until the thread ends. */
  serve(site: ServedSite, port: MessagePort): void {
    const { data, onProblem } = this.#options
    const asker: DataAsker = { ...site, owner: port }
    const peer = new RpcPeer({
      channel: createPortChannel(port),
      local: siteServiceMethods,
      handlers: this.#handlersFor(asker),
      remote: siteServiceClientMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'render thread',
      onProblem,
    })
    port.unref()
    peer.closed.then(() => data.ownerGone(port), onProblem)
  }

  #handlersFor(asker: DataAsker): Handlers<typeof siteServiceMethods> {
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
