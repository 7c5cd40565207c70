import {
  canBeValidated,
  type FillEnd,
  firstField,
  freshenedFields,
  type ProxyEntry,
  type Refusal,
  type SharedFill,
  type StoredEntry,
  type Storing,
  storingOf,
  validatingFields,
} from '@svc/cache'
import type { HeaderList, ResponseHead, ResponseSink, ResponseSource } from '@svc/http'
import { UpstreamError } from '@svc/upstream'
import type { CacheClient, ServedEntry } from './cache-client.ts'
import type { Delivered } from './delivery.ts'
import { type ProxyParts, purgeableAt, SharedResponse, type SharedResponseOptions } from './shared-response.ts'
import { mayReplaceFailure, mayReplaceStatus } from './stale-rules.ts'

interface UpstreamFetchOptions {
  readonly parts: ProxyParts
  readonly shared: SharedFill<CacheClient>
  /** The client that the request is sent for; undefined in a refresh. */
  readonly leader: CacheClient | undefined
  /** Its request is sent on. */
  readonly requester: Pick<CacheClient, 'context' | 'origin' | 'request'>
  /** A stored response to validate. */
  readonly stale: ProxyEntry | undefined
  /** True if other requests may have the response. */
  readonly isShared: boolean
  /** How long other workers wait for the body. */
  readonly bodyMs: number
  /** There is a `response`, or an entry to be `served` in its place: the leader gets it. */
  readonly onAnswer: () => void
}

/** One request to an upstream for a fill: validates a stored response, or fetches one and stores it. */
export class UpstreamFetch implements ResponseSink {
  readonly #options: UpstreamFetchOptions
  #stale: ProxyEntry | undefined
  #source: ResponseSource | undefined
  #sentAt = 0
  /** The body, where it arrived at once. */
  #whole: Buffer | undefined
  /** The upstream has nothing more to say, or was aborted. */
  #isDone = false
  /** An entry that answers in place of a response. */
  served: Omit<ServedEntry, 'isCollapsed'> | undefined
  /** From the head on. */
  response: SharedResponse | undefined
  /** Why the response is not stored. */
  refused: string | undefined

  constructor(options: UpstreamFetchOptions) {
    this.#options = options
    this.#stale = options.stale
  }

  start(): void {
    if (this.#isDone) return
    const { requester, parts } = this.#options
    const known = this.#stale?.entry.headers
    const stale = known !== undefined && canBeValidated(known) ? known : undefined
    this.#sentAt = parts.clock.now()
    this.#whole = undefined
    requester.origin.fetch(
      { ...requester.request, method: 'GET', headers: validatingFields(requester.request.headers, stale) },
      this,
    )
  }

  /** Aborts the request, unless it has been answered. */
  abort(): void {
    if (!this.#isDone && this.response === undefined && this.served === undefined) this.#finish({ kind: 'lost' })
  }

  /** Aborts the request, and discards a response that is not complete. */
  cut(): void {
    if (this.#isDone) return
    this.response?.cut(new UpstreamError('UPSTREAM_CUT', 'the refresh of a cached response took too long'))
    this.#finish({ kind: 'lost' })
  }

  attach(source: ResponseSource): void {
    this.#source = source
    if (this.#isDone) source.abort()
  }

  informational(head: ResponseHead): void {
    const { leader } = this.#options
    if (leader?.isGone === false) leader.sink.informational(head)
  }

  head(head: ResponseHead, length: number | undefined): void {
    if (this.#isDone) return
    const { requester, parts } = this.#options
    const stale = this.#stale
    if (stale !== undefined && head.status === 304 && canBeValidated(stale.entry.headers)) {
      this.#validated(stale, head)
      return
    }
    if (stale !== undefined && mayReplaceStatus(stale.entry, head.status, requester.context.rules.useStale, parts.clock.now())) {
      this.#serveInstead(stale)
      return
    }
    const storing = this.#storingOf(head)
    const { maxBodyBytes } = parts.store
    const isStorable = maxBodyBytes > 0 && (length ?? 0) <= maxBodyBytes && this.#isUnpurged
    if (!('refused' in storing) && isStorable) this.#share(head, length, storing)
    else this.#forward(head, length, 'refused' in storing ? storing.refused : 'size')
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    // One copy for the store and all clients.
    this.#whole = Buffer.from(body)
    this.head(head, body.byteLength)
    this.end([])
  }

  chunk(bytes: Uint8Array): boolean {
    return this.response?.add(bytes) ?? true
  }

  end(trailers: HeaderList): void {
    const { response } = this
    if (this.#isDone || response === undefined) return
    if (!response.complete(trailers)) {
      this.#finish({ kind: 'lost' })
      return
    }
    this.#isDone = true
    const { requester, shared } = this.#options
    void response
      .store(shared.key, requester.request.headers, () => this.#mayStore)
      .then((isStored) => this.#finish({ kind: isStored ? 'stored' : 'lost' }))
  }

  fail(error: Error): void {
    if (this.#isDone) return
    if (this.response !== undefined) {
      this.response.cut(error)
      this.#finish({ kind: 'lost' })
      return
    }
    const { requester, leader, parts } = this.#options
    const stale = this.#stale
    if (stale !== undefined && mayReplaceFailure(stale.entry, error, requester.context.rules.useStale, parts.clock.now())) {
      this.#serveInstead(stale)
      return
    }
    this.#finish({ kind: 'failed', error })
    if (leader?.isGone === false) leader.sink.fail(error)
  }

  get #isUnpurged(): boolean {
    const { requester, shared } = this.#options
    return shared.mayStore(purgeableAt(requester.context.address), 'proxy')
  }

  /** False: a purge has overtaken the fill, or an unsafe request to another worker could have without finding out about it. */
  get #mayStore(): boolean {
    return this.#options.shared.isLeased && this.#isUnpurged
  }

  #storingOf(head: ResponseHead): Storing | Refusal {
    const { context, request } = this.#options.requester
    if (context.mustNotStore) return { refused: 'no-cache' }
    const { ignoredFields } = context.rules
    const ruleSeconds = context.rules.validSeconds(head.status)
    const times = { sentAt: this.#sentAt, receivedAt: this.#options.parts.clock.now() }
    return storingOf({ request: { ...request, method: 'GET' }, head, ruleSeconds, ignoredFields, ...times })
  }

  #keyOf({ vary }: Storing): string {
    const { requester, parts } = this.#options
    return parts.store.keyOf(requester.context.address, vary, requester.request.headers)
  }

  /** The stored response is still valid. */
  #validated({ key, entry: stale }: ProxyEntry, head: ResponseHead): void {
    const { onAnswer, parts, shared } = this.#options
    const headers = freshenedFields(stale.headers, head.headers)
    const age = head.headers.filter(([name]) => name === 'age')
    const storing = this.#storingOf({ status: stale.status, headers: [...headers, ...age] })
    this.#source?.abort()
    if (!('refused' in storing) && this.#keyOf(storing) !== key) {
      // It depends on other fields now, and so belongs under another key: the whole response is requested, outside of the
      // calls of the source.
      this.#stale = undefined
      queueMicrotask(() => this.start())
      return
    }
    const isStored = !('refused' in storing) && this.#mayStore
    const { createdAt, ttlMs, swrMs } = 'refused' in storing ? { createdAt: parts.clock.now(), ttlMs: 0, swrMs: 0 } : storing
    const entry: StoredEntry = { ...stale, headers, createdAt, ttlMs, swrMs, seq: shared.seq, isMarkedStale: false }
    this.served = { key, entry, how: 'validated' }
    this.refused = 'refused' in storing ? storing.refused : undefined
    shared.close()
    onAnswer()
    shared.offer()
    if (!isStored) {
      this.#finish({ kind: 'lost' })
      return
    }
    this.#isDone = true
    const { body, ...facts } = entry
    void parts.store.putAgain(key, facts, body).then((isPut) => {
      if (isPut) parts.sharing?.share(shared.key, key)
      this.#finish({ kind: isPut ? 'stored' : 'lost' })
    })
  }

  #serveInstead(stale: ProxyEntry): void {
    this.served = { ...stale, how: 'instead' }
    this.#options.onAnswer()
    this.#finish({ kind: 'failed', error: undefined })
  }

  /** A response that is stored: all clients that it suits get it while it arrives. */
  #share(head: ResponseHead, length: number | undefined, storing: Storing): void {
    const { bodyMs, shared } = this.#options
    shared.limitLease(bodyMs)
    const { createdAt, headers } = storing
    const stored = { key: this.#keyOf(storing), storing }
    this.#respond({ status: head.status, headers, createdAt, length, isStored: false }, stored)
    shared.offer()
  }

  /**
   * A response that is not stored, for the leader. A failure goes to all waiting requests, otherwise each would repeat it; but not if it may
   * identify its client.
   */
  #forward(head: ResponseHead, length: number | undefined, refused: string): void {
    const { requester, isShared, parts, shared } = this.#options
    const isFailure = head.status >= 500 && (refused === 'no-lifetime' || refused === 'size')
    this.refused = refused
    shared.close()
    this.#respond({ ...head, createdAt: parts.clock.now(), length, isStored: false }, undefined)
    if (isFailure && isShared && !isPersonal(requester.request.headers)) shared.offer()
    shared.end({ kind: isFailure || !isShared ? 'unshared' : 'pass', detail: refused })
    if (this.response?.hasReaders === false) this.#finish({ kind: 'lost' })
  }

  #respond(response: Delivered, stored: SharedResponseOptions['stored']): void {
    const { requester, onAnswer, parts, shared } = this.#options
    this.response = new SharedResponse({
      parts,
      address: requester.context.address,
      response,
      stored,
      whole: this.#whole,
      seq: shared.seq,
      mayOffer: () => shared.isLeased,
      onUnstorable: () => shared.close(),
      onUnread: () => this.#finish({ kind: 'lost' }),
      onRoom: () => this.#source?.resume(),
    })
    onAnswer()
  }

  #finish(end: FillEnd): void {
    this.#isDone = true
    this.#source?.abort()
    this.#options.shared.end(end)
    this.response?.release()
  }
}

/** True if a request identifies its client. */
function isPersonal(headers: HeaderList): boolean {
  return firstField(headers, 'cookie') !== undefined || firstField(headers, 'authorization') !== undefined
}
