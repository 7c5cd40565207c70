import { mayBeShared, type ProxyAddress, type Purgeable, type Storing, uriTag } from '@svc/cache'
import type { HeaderList } from '@svc/http'
import { BodyDelivery } from './body-delivery.ts'
import type { CacheClient, ProxyStatus } from './cache-client.ts'
import { type Delivered, deliveryOf } from './delivery.ts'
import type { ProxyParts } from './proxy-parts.ts'
import { SpooledBody } from './spooled-body.ts'

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
  readonly #spool: SpooledBody

  constructor(options: SharedResponseOptions) {
    const { parts, address, stored, whole, onUnstorable, onUnread, onRoom } = options
    const { store, clock, onProblem } = parts
    this.#options = options
    this.#spool = new SpooledBody({
      clock,
      begin: () => store.files.begin(address.label),
      maxBytes: stored === undefined ? 0 : store.maxBodyBytes,
      onUnkept: (error) => {
        onUnstorable()
        if (error !== undefined) onProblem(error)
      },
      onUnread,
      onRoom,
    })
    if (whole !== undefined && whole.byteLength > 0) this.#spool.add(whole)
  }

  /** True if the response is being stored. */
  get isStored(): boolean {
    return this.#options.stored !== undefined
  }

  get hasReaders(): boolean {
    return this.#spool.hasReaders
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
    const { address, parts, response, seq, stored, whole } = this.#options
    if (client.isGone) return
    const { context, request, sink } = client
    const { head, from, to, length } = deliveryOf(request, response, parts.clock.now())
    context.report({ outcome, isStored: this.isStored, isCollapsed, ...(refused !== undefined && { detail: refused }) })
    if (stored !== undefined && head.status === response.status) {
      const { label, path, tags } = purgeableAt(address)
      const { createdAt, ttlMs, headers } = stored.storing
      context.offer({ createdAt, ttlMs, label, path, tags, seq, headers }, stored.key)
    }
    const isHead = request.method === 'HEAD'
    if (whole !== undefined && !isHead && length !== undefined) {
      sink.whole(head, whole.subarray(from, to))
      return
    }
    const delivery = new BodyDelivery(this.#spool, sink, from, isHead ? from : to)
    sink.attach(delivery)
    sink.head(head, length)
    delivery.start()
  }

  /** Takes bytes that arrived. False: no more before `onRoom`. */
  add(bytes: Uint8Array): boolean {
    return this.#spool.add(Buffer.from(bytes))
  }

  /** The response is complete. False: it may not be stored, for it is shorter than it should be, or trailers follow it. */
  complete(trailers: HeaderList): boolean {
    const { length } = this.#options.response
    this.#spool.end(undefined)
    return this.isStored && (length === undefined || length === this.#spool.bytes) && trailers.length === 0
  }

  /** The response broke off. */
  cut(error: Error): void {
    this.#spool.end(error)
  }

  /**
   * Stores it, once it is complete.
   * @param request fields of the request that it answers
   * @param mayStore called last: true if no purge has overtaken it
   */
  async store(request: HeaderList, mayStore: () => boolean): Promise<boolean> {
    const { address, parts, response, seq, stored } = this.#options
    if (stored === undefined) return false
    const { key, storing } = stored
    const body = await this.#spool.kept(key)
    if (body === undefined) return false
    const isStored = mayStore() && (await parts.store.put({ address, request, status: response.status, storing, body, seq }))
    if (!isStored && !(body instanceof Uint8Array)) parts.store.files.discard([body.name])
    return isStored
  }

  /** Only its present readers continue. */
  release(): void {
    this.#spool.release()
  }
}
