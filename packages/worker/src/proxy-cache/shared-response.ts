import {
  type BodyFileRef,
  type IncomingBody,
  type LeaseDesk,
  MAX_INLINE_BYTES,
  mayBeShared,
  type PassMemory,
  type ProxyAddress,
  type ProxyStore,
  type Purgeable,
  type PurgeLedger,
  type SharedLeases,
  type Storing,
  uriTag,
} from '@svc/cache'
import { asError, type Clock } from '@svc/core'
import { type BodyBlocks, BodyBuffer, BodyDelivery, type HeaderList } from '@svc/http'
import type { CacheMetrics } from '@svc/telemetry'
import { UpstreamError } from '@svc/upstream'
import { type CacheClient, type ProxyStatus, wordOfForward } from './cache-client.ts'
import { type Delivered, deliveryOf, sendPart } from './delivery.ts'

/** Milliseconds after which a stalled reader of a body that is not cached is dropped, if other readers wait for more of it. */
const LAG_MS = 30_000

/** The services that the parts of the proxy cache share. */
export interface ProxyParts {
  readonly store: ProxyStore
  readonly ledger: PurgeLedger
  readonly leases: LeaseDesk
  /** Gives entries to the other instances; undefined: there are none. */
  readonly sharing?: Pick<SharedLeases, 'share'> | undefined
  readonly metrics: CacheMetrics
  readonly clock: Clock
  /** For bodies on their way. */
  readonly blocks: BodyBlocks
  /** Keys whose last response could not be stored. */
  readonly passes: PassMemory
  readonly onProblem: (error: Error) => void
}

export interface SharedResponseOptions {
  readonly parts: ProxyParts
  readonly address: ProxyAddress
  readonly response: Delivered
  /** Location in the store; undefined: it is not stored. */
  readonly stored: { readonly key: string; readonly storing: Storing } | undefined
  /** The body, where it arrived at once. */
  readonly whole: Buffer | undefined
  /** Number of the last purge that was known when it was requested. */
  readonly seq: number
  /** False: an unsafe request to another worker does not find out about the response before it is stored. */
  readonly mayOffer: () => boolean
  /** It turned out that it cannot be stored. */
  readonly onUnstorable: () => void
  /** It is not stored, and no client reads it any more. */
  readonly onUnread: () => void
  /** The upstream may send more. */
  readonly onRoom: () => void
}

/** How the response reaches one client: fields of Cache-Status. */
interface DeliveryStatus extends Pick<ProxyStatus, 'outcome'> {
  readonly isCollapsed: boolean
  /** Why it is not stored. */
  readonly refused: string | undefined
}

/** The properties of the responses of an address that purges can match. */
export function purgeableAt({ label, path, hostname, uri }: ProxyAddress): Purgeable {
  return { label, path, host: hostname, tags: [uriTag(uri)] }
}

/** A response of an upstream while it arrives: sent to any number of clients, and stored if it may be. */
export class SharedResponse {
  readonly #options: SharedResponseOptions
  /** undefined: the body arrived at once, and is short. */
  readonly #buffer: BodyBuffer<IncomingBody> | undefined

  constructor(options: SharedResponseOptions) {
    const { parts, address, stored, whole, onUnstorable, onUnread, onRoom } = options
    const { store, clock, blocks, onProblem } = parts
    this.#options = options
    if (whole !== undefined && (whole.byteLength <= MAX_INLINE_BYTES || stored === undefined)) return
    this.#buffer = new BodyBuffer({
      blocks,
      keeps: 'all',
      memoryBytes: MAX_INLINE_BYTES,
      maxBytes: stored === undefined ? 0 : store.maxBodyBytes,
      openFile: () => store.files.begin(address.label),
      onNotStored: (error) => {
        onUnstorable()
        if (error !== undefined) onProblem(error)
      },
      onUnread,
      onRoom,
      lag: {
        clock,
        limitMs: LAG_MS,
        error: () => new UpstreamError('UPSTREAM_CUT', 'slow client dropped: it was blocking other readers'),
      },
    })
    if (whole !== undefined) this.#buffer.add(whole)
  }

  /** True if the response is being stored. */
  get isStored(): boolean {
    return this.#options.stored !== undefined
  }

  get hasReaders(): boolean {
    return this.#buffer?.hasReaders === true
  }

  /** The key of the response to a client; undefined: this one is not stored. */
  keyFor({ context, request }: CacheClient): string | undefined {
    const { parts, stored } = this.#options
    return stored && parts.store.keyOf(context.address, stored.storing.vary, request.headers)
  }

  /** True if the response is for this client too. */
  suits(client: CacheClient): boolean {
    const { response, stored } = this.#options
    if (!mayBeShared(response.headers, client.request.headers)) return false
    return stored === undefined || this.keyFor(client) === stored.key
  }

  /** Sends it to a client, from its beginning, as it arrives. */
  deliver(client: CacheClient, { outcome, isCollapsed, refused }: DeliveryStatus): void {
    const { address, mayOffer, parts, response, seq, stored, whole } = this.#options
    if (client.isGone) return
    const { context, request, sink } = client
    const { head, from, to, length } = deliveryOf(request, response, parts.clock.now())
    const status = { outcome, isStored: this.isStored, isCollapsed, ...(refused !== undefined && { detail: refused }) }
    context.report(status, wordOfForward(outcome))
    if (stored !== undefined && head.status === response.status && mayOffer()) {
      const { label, path, tags } = purgeableAt(address)
      const { createdAt, ttlMs, headers } = stored.storing
      context.offer({ createdAt, ttlMs, label, path, tags, seq, headers }, stored.key)
    }
    if (whole !== undefined) {
      sendPart(client, { head, from, to, length }, whole)
      return
    }
    if (this.#buffer === undefined) return
    const delivery = new BodyDelivery(this.#buffer, sink, { from, to: request.method === 'HEAD' ? from : to })
    sink.attach(delivery)
    sink.head(head, length)
    delivery.start()
  }

  /** Takes bytes that arrived. False: no more before `onRoom`. */
  add(bytes: Uint8Array): boolean {
    const { length } = this.#options.response
    const buffer = this.#buffer
    return buffer === undefined || buffer.add(bytes, length === undefined ? undefined : length - buffer.bytes)
  }

  /** The response is complete. False: it may not be stored, for it is shorter than it should be, or trailers follow it. */
  complete(trailers: HeaderList): boolean {
    const { response, whole } = this.#options
    const { length } = response
    this.#buffer?.end()
    const bytes = whole?.byteLength ?? this.#buffer?.bytes
    return this.isStored && (length === undefined || length === bytes) && trailers.length === 0
  }

  /** The response broke off. */
  cut(error: Error): void {
    this.#buffer?.end(error)
  }

  /**
   * Stores it, once it is complete.
   * @param fillKey key of the fill that fetched it
   * @param request fields of the request that it answers
   * @param mayStore called last: true if no purge has overtaken it
   */
  async store(fillKey: string, request: HeaderList, mayStore: () => boolean): Promise<boolean> {
    const { address, parts, response, seq, stored } = this.#options
    if (stored === undefined) return false
    const { key, storing } = stored
    const body = this.#buffer === undefined ? this.#options.whole : await this.#written(this.#buffer, key)
    if (body === undefined) return false
    const isStored = mayStore() && (await parts.store.put({ address, request, status: response.status, storing, body, seq }))
    if (isStored) parts.sharing?.share(fillKey, key)
    else if (!(body instanceof Uint8Array)) parts.store.files.discard([body.name])
    return isStored
  }

  /** Only its present readers continue. */
  release(): void {
    this.#buffer?.release()
  }

  async #written(buffer: BodyBuffer<IncomingBody>, key: string): Promise<Uint8Array | BodyFileRef | undefined> {
    const kept = await buffer.stored()
    if (kept === undefined || kept instanceof Uint8Array) return kept
    try {
      return await kept.commit(key)
    } catch (error) {
      const { onUnstorable, parts } = this.#options
      onUnstorable()
      parts.onProblem(asError(error))
      return undefined
    }
  }
}
