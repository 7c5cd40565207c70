import type { MessagePort } from 'node:worker_threads'
import { createPortChannel, type Handlers, type ReplyOf, RpcPeer } from '@svc/core'
import { PROTOCOL_VERSION } from '@svc/protocol'
import {
  type DataQuestion,
  type FillOutcome,
  type PathPurge,
  siteServiceClientMethods,
  siteServiceMethods,
} from '../../contract/data-methods.ts'

/** How long the host may take over what needs no other site's code to end. */
const ANSWER_TIMEOUT_MS = 60_000

/** Longer than the host lets a process compile: other batches of the site, and other sites, may come first. */
const COMPILE_TIMEOUT_MS = 600_000

/** The result of a look-up. */
type FoundData =
  | { readonly kind: 'hit'; readonly body: Uint8Array; readonly tags: readonly string[]; readonly isStale: boolean }
  /** Make it, and give `fill` back. */
  | { readonly kind: 'fill'; readonly fill: number }
  /** Make it; it is not stored. */
  | { readonly kind: 'pass' }

/** The result of a fill. */
interface MadeData {
  readonly tags: readonly string[]
  /** Milliseconds of freshness; null: for ever. */
  readonly ttlMs: number | null
  readonly body: Uint8Array
}

/** Parts of a data client. */
interface DataClientOptions {
  readonly port: MessagePort
  /** Serves the host's calls about compiled modules. */
  readonly handlers: Handlers<typeof siteServiceClientMethods>
  readonly onProblem: (error: Error) => void
}

/** The data cache and the purges of a site, as a thread of it has them. A lost host counts as a miss. */
export class DataClient {
  readonly #peer: RpcPeer<typeof siteServiceClientMethods, typeof siteServiceMethods>

  constructor({ port, handlers, onProblem }: DataClientOptions) {
    this.#peer = new RpcPeer({
      channel: createPortChannel(port),
      local: siteServiceClientMethods,
      handlers,
      remote: siteServiceMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'render host',
      onProblem,
    })
  }

  /** Looks an entry up, and waits for a thread that is producing it. Never rejects. */
  async read(question: DataQuestion): Promise<FoundData> {
    try {
      const { body, bytes } = await this.#peer.open('readData', question, { timeoutMs: ANSWER_TIMEOUT_MS }).reply
      const { kind, fill, isStale = false, tags = [] } = body
      if (kind === 'hit' && bytes !== undefined) return { kind, body: bytes, tags, isStale }
      return kind === 'fill' && fill !== undefined ? { kind, fill } : { kind: 'pass' }
    } catch {
      // The host ends, or is overloaded: the caller produces the data itself.
      return { kind: 'pass' }
    }
  }

  /** Stores the result of a fill. Never rejects. */
  async store(fill: number, { tags, ttlMs, body }: MadeData): Promise<boolean> {
    const request = { fill, tags: [...tags], ttlMs }
    try {
      const reply = await this.#peer.call('storeData', request, { timeoutMs: ANSWER_TIMEOUT_MS, bytes: body })
      return reply.isStored
    } catch {
      // The host ends: nothing is stored.
      return false
    }
  }

  /** Gives a fill back without a result. */
  endFill(fill: number, outcome: FillOutcome): void {
    this.#peer.notify('endFill', { fill, outcome })
  }

  /**
   * Has modules compiled in a process of their own.
   * @throws RENDER_COMPILE when that had to be ended, or crashed; RENDER_DRAINING
   */
  compile(view: string, ids: readonly string[]): Promise<ReplyOf<typeof siteServiceMethods.compile>> {
    return this.#peer.call('compile', { view, ids: [...ids] }, { timeoutMs: COMPILE_TIMEOUT_MS })
  }

  /**
   * Purges in the whole instance; resolves when nothing of it is served any more.
   * @throws RENDER_PURGE_REFUSED, and what keeps the master from carrying it out
   */
  async purge(tags: readonly string[], paths: readonly PathPurge[]): Promise<void> {
    await this.#peer.call('purge', { tags: [...tags], paths: [...paths] }, { timeoutMs: ANSWER_TIMEOUT_MS })
  }
}
