import {
  canBeValidated,
  type FillEnd,
  type FillPolicy,
  type Fills,
  firstField,
  freshenedFields,
  freshnessOf,
  type LateWaiter,
  type ProxyAddress,
  type ProxyEntry,
  type Refusal,
  type SharedFill,
  type StoredEntry,
  type Storing,
  storingOf,
  validatingFields,
} from '@svc/cache'
import type { HeaderList, ResponseHead, ResponseSink, ResponseSource } from '@svc/http'
import type { CacheClient, ProxyStatus } from './cache-client.ts'
import type { Delivered } from './delivery.ts'
import type { ProxyParts, ServedEntry } from './proxy-parts.ts'
import { purgeableAt, SharedResponse, type SharedResponseOptions } from './shared-response.ts'
import { mayReplaceFailure, mayReplaceStatus } from './stale-rules.ts'

/** Keys of the store begin with the label and the URI. */
const LEASE_KIND = 'proxy\0'
/** How long other workers wait for an upstream to begin its response: past that each sends its own request. */
const HEAD_MS = 30_000
/** How long they wait for the rest of it. */
const BODY_MS = 5_000
/** How much longer than its limit a lease may be in transit. */
const MARGIN_MS = 1_000

/** The keys of the leases for a resource begin with this, whatever else its responses depend on. */
export function leasePrefix(label: string, uri: string): string {
  return `${LEASE_KIND}${label}\0${uri}\0`
}

export type ProxyFills = Fills<CacheClient, ProxyFill>

/** The beginning of a fill. */
export interface ProxyFillStart {
  /** The request that is sent on; that of the client that leads the fill replaces it. */
  readonly source: Pick<CacheClient, 'context' | 'origin' | 'request'>
  /** The key of the response, as far as it is known. */
  readonly key: string
  /** True if a stored response may be validated. */
  readonly mayValidate: boolean
  /** True if other requests may join, and other workers wait. */
  readonly isShared: boolean
  readonly isRefresh: boolean
  /** Why the request is sent on. */
  readonly reason: ProxyStatus['outcome']
}

/** Fallback for clients that a fill does not answer itself. */
interface ProxyFillExits {
  /** Looks for a response again. */
  again(client: CacheClient): void
  /** Sends the request of a client on by itself. */
  pass(client: CacheClient, detail: string | undefined): void
  /** Answers from an entry. */
  serve(client: CacheClient, served: ServedEntry): void
}

/** One request to an upstream, and all clients that want its response: the policy of the proxy cache for one fill. */
export class ProxyFill implements FillPolicy<CacheClient>, ResponseSink {
  readonly shared: SharedFill<CacheClient, ProxyFill>
  readonly #start: ProxyFillStart
  readonly #parts: ProxyParts
  readonly #exits: ProxyFillExits
  #leader: CacheClient | undefined
  /** A stored response to validate. */
  #stale: ProxyEntry | undefined
  /** An entry that answers in place of the response, and why a client other than the leader may not have it. */
  #served: Omit<ServedEntry, 'isCollapsed'> | undefined
  #refused: string | undefined
  #source: ResponseSource | undefined
  #sentAt = 0
  /** The body, where it arrived at once. */
  #whole: Buffer | undefined
  /** From the head on. */
  #response: SharedResponse | undefined
  /** The upstream has nothing more to say, or was aborted. */
  #isDone = false

  constructor(start: ProxyFillStart, parts: ProxyParts, fills: ProxyFills, exits: ProxyFillExits) {
    const { key, isShared, isRefresh } = start
    this.#start = start
    this.#parts = parts
    this.#exits = exits
    const lease = { key: LEASE_KIND + key, waitMs: HEAD_MS + BODY_MS + MARGIN_MS, limitMs: HEAD_MS, isOptional: true }
    this.shared = fills.open(key, this, { lease: isShared ? lease : undefined, isRefresh, isPrivate: !isShared })
  }

  get address(): ProxyAddress {
    return this.#start.source.context.address
  }

  /** The key of the response to a client, as far as the head tells on which fields the response depends. */
  keyFor(client: CacheClient): string {
    return this.#response?.keyFor(client) ?? this.#start.key
  }

  /** True if the response is for this client too, as far as is known. */
  suits(client: CacheClient): boolean {
    return this.#response === undefined || this.#response.suits(client)
  }

  /** Takes a client. */
  join(client: CacheClient): void {
    client.leave = () => {
      this.shared.leave(client)
      this.#abortUnwanted()
    }
    this.shared.join(client)
  }

  /** Looks once more: another worker may have stored a response before this one got the lease, or a purge may have come. */
  ready(first: CacheClient | undefined): 'fill' | 'stored' {
    const { store, ledger } = this.#parts
    if (!this.#start.mayValidate) return 'fill'
    store.refresh()
    const { context, request } = first ?? this.#start.source
    const { found } = store.find(context.address, request.headers)
    if (found === undefined || !ledger.mayServe(found.entry.seq, found.entry, 'proxy')) return 'fill'
    if (freshnessOf(found.entry, this.#now()) === 'fresh') return 'stored'
    // Stored bytes are lent for this turn of the event loop alone.
    this.#stale = { key: found.key, entry: { ...found.entry, body: Buffer.from(found.entry.body) } }
    return 'fill'
  }

  produce(leader: CacheClient | undefined): void {
    this.#leader = leader
    this.#send()
  }

  give(client: CacheClient): 'given' | 'again' {
    if (this.#served !== undefined) this.#serve(client, this.#served)
    else if (!this.suits(client)) return 'again'
    else this.#deliver(client)
    return 'given'
  }

  settled(end: FillEnd): void {
    const { passes, store } = this.#parts
    if (end.kind === 'pass') passes.add(this.#start.key, end.detail)
    if (end.kind !== 'elsewhere') return
    if (end.outcome === 'pass') passes.add(this.#start.key, 'other')
    else store.refresh()
  }

  dismiss(client: CacheClient, reason: FillEnd | LateWaiter): void {
    switch (reason.kind) {
      case 'pass':
      case 'unshared':
        this.#exits.pass(client, reason.detail)
        return
      case 'failed':
        if (this.#served !== undefined) this.#serve(client, this.#served)
        else if (reason.error !== undefined) client.sink.fail(reason.error)
        return
      case 'stored':
      case 'refused':
      case 'lost':
      case 'elsewhere':
      case 'late':
        this.#exits.again(client)
    }
  }

  attach(source: ResponseSource): void {
    this.#source = source
    if (this.#isDone) source.abort()
  }

  informational(head: ResponseHead): void {
    if (this.#leader?.isGone === false) this.#leader.sink.informational(head)
  }

  head(head: ResponseHead, length: number | undefined): void {
    if (this.#isDone) return
    const stale = this.#stale
    if (stale !== undefined && head.status === 304 && canBeValidated(stale.entry.headers)) {
      this.#validated(stale, head)
      return
    }
    if (stale !== undefined && mayReplaceStatus(stale.entry, head.status, this.#asked.context.rules.useStale, this.#now())) {
      this.#serveInstead(stale)
      return
    }
    const storing = this.#storingOf(head)
    const { maxBodyBytes } = this.#parts.store
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
    return this.#response?.add(bytes) ?? true
  }

  end(trailers: HeaderList): void {
    const response = this.#response
    if (this.#isDone || response === undefined) return
    if (response.complete(trailers)) void this.#store(response)
    else this.#finish({ kind: 'lost' })
  }

  fail(error: Error): void {
    if (this.#isDone) return
    if (this.#response !== undefined) {
      this.#response.cut(error)
      this.#finish({ kind: 'lost' })
      return
    }
    const stale = this.#stale
    if (stale !== undefined && mayReplaceFailure(stale.entry, error, this.#asked.context.rules.useStale, this.#now())) {
      this.#serveInstead(stale)
      return
    }
    const leader = this.#leader
    this.#finish({ kind: 'failed', error })
    if (leader?.isGone === false) leader.sink.fail(error)
  }

  /** The request that is sent on. */
  get #asked(): ProxyFillStart['source'] {
    return this.#leader ?? this.#start.source
  }

  get #isUnpurged(): boolean {
    return this.shared.mayStore(purgeableAt(this.address), 'proxy')
  }

  /** Aborts a request whose response no client wants; one that is being stored goes on. A refresh never had a client. */
  #abortUnwanted(): void {
    const isWanted = this.#leader?.isGone === false || this.shared.waiting > 0
    const isAnswered = this.#isDone || this.#response !== undefined || this.#served !== undefined
    if (!isWanted && !isAnswered && this.#leader !== undefined) this.#finish({ kind: 'lost' })
  }

  #send(): void {
    if (this.#isDone) return
    const { origin, request } = this.#asked
    const known = this.#stale?.entry.headers
    const stale = known !== undefined && canBeValidated(known) ? known : undefined
    this.#sentAt = this.#now()
    this.#whole = undefined
    origin.fetch({ ...request, method: 'GET', headers: validatingFields(request.headers, stale) }, this)
  }

  #storingOf(head: ResponseHead): Storing | Refusal {
    const { context, request } = this.#asked
    if (context.isUnkept) return { refused: 'no-cache' }
    const ruleSeconds = context.rules.validSeconds(head.status)
    const times = { sentAt: this.#sentAt, receivedAt: this.#now() }
    return storingOf({ request: { ...request, method: 'GET' }, head, ruleSeconds, ...times })
  }

  #keyOf({ vary }: Storing): string {
    return this.#parts.store.keyOf(this.address, vary, this.#asked.request.headers)
  }

  /** The stored response is still valid. */
  #validated({ key, entry: stale }: ProxyEntry, head: ResponseHead): void {
    const headers = freshenedFields(stale.headers, head.headers)
    const age = head.headers.filter(([name]) => name === 'age')
    const storing = this.#storingOf({ status: stale.status, headers: [...headers, ...age] })
    if (!('refused' in storing) && this.#keyOf(storing) !== key) {
      // It depends on other fields now, and so belongs under another key: the whole response is requested, outside of the
      // calls of the source.
      this.#stale = undefined
      this.#source?.abort()
      queueMicrotask(() => this.#send())
      return
    }
    this.#source?.abort()
    const isStored = !('refused' in storing) && this.#isUnpurged
    const { createdAt, ttlMs, swrMs } = 'refused' in storing ? { createdAt: this.#now(), ttlMs: 0, swrMs: 0 } : storing
    const entry: StoredEntry = { ...stale, headers, createdAt, ttlMs, swrMs, seq: this.shared.seq, isMarkedStale: false }
    this.#served = { key, entry, how: 'validated' }
    this.#refused = 'refused' in storing ? storing.refused : undefined
    this.shared.close()
    if (this.#leader?.isGone === false) this.#serve(this.#leader, this.#served)
    this.shared.offer()
    if (!isStored) {
      this.#finish({ kind: 'lost' })
      return
    }
    this.#isDone = true
    const { body, ...facts } = entry
    void this.#parts.store.putAgain(key, facts, body).then((isPut) => this.#finish({ kind: isPut ? 'stored' : 'lost' }))
  }

  #serveInstead(stale: ProxyEntry): void {
    this.#served = { ...stale, how: 'instead' }
    if (this.#leader?.isGone === false) this.#serve(this.#leader, this.#served)
    this.#finish({ kind: 'failed', error: undefined })
  }

  #serve(client: CacheClient, served: Omit<ServedEntry, 'isCollapsed'>): void {
    const isCollapsed = client !== this.#leader
    if (isCollapsed && this.#refused !== undefined) this.#exits.pass(client, this.#refused)
    else this.#exits.serve(client, { ...served, isCollapsed })
  }

  /** A response that is stored: all clients that it suits get it while it arrives. */
  #share(head: ResponseHead, length: number | undefined, storing: Storing): void {
    this.shared.limitLease(BODY_MS)
    const { createdAt, headers } = storing
    const stored = { key: this.#keyOf(storing), storing }
    this.#respond({ status: head.status, headers, createdAt, length, isStored: false }, stored)
    this.shared.offer()
  }

  /**
   * A response that is not stored, for the leader. A failure goes to all waiting requests, otherwise each would repeat it; but not if it may
   * identify its client.
   */
  #forward(head: ResponseHead, length: number | undefined, refused: string): void {
    const { isShared } = this.#start
    const isFailure = head.status >= 500 && (refused === 'no-lifetime' || refused === 'size')
    this.#refused = refused
    this.shared.close()
    this.#respond({ ...head, createdAt: this.#now(), length, isStored: false }, undefined)
    if (isFailure && isShared && !isPersonal(this.#asked.request.headers)) this.shared.offer()
    this.shared.end({ kind: isFailure || !isShared ? 'unshared' : 'pass', detail: refused })
    if (this.#response?.hasReaders === false) this.#finish({ kind: 'lost' })
  }

  #respond(response: Delivered, stored: SharedResponseOptions['stored']): void {
    this.#response = new SharedResponse({
      parts: this.#parts,
      address: this.address,
      response,
      stored,
      whole: this.#whole,
      seq: this.shared.seq,
      onUnstorable: () => this.shared.close(),
      onUnread: () => this.#finish({ kind: 'lost' }),
      onRoom: () => this.#source?.resume(),
    })
    if (this.#leader !== undefined) this.#deliver(this.#leader)
  }

  #deliver(client: CacheClient): void {
    const isCollapsed = client !== this.#leader
    this.#response?.deliver(client, { outcome: this.#start.reason, isCollapsed, refused: this.#refused })
  }

  async #store(response: SharedResponse): Promise<void> {
    const isStored = await response.store(this.#asked.request.headers, () => this.#isUnpurged)
    this.#finish({ kind: isStored ? 'stored' : 'lost' })
  }

  #finish(end: FillEnd): void {
    this.#isDone = true
    this.#source?.abort()
    this.shared.end(end)
    this.#response?.release()
  }

  #now(): number {
    return this.#parts.clock.now()
  }
}

/** True if a request identifies its client. */
function isPersonal(headers: HeaderList): boolean {
  return firstField(headers, 'cookie') !== undefined || firstField(headers, 'authorization') !== undefined
}
