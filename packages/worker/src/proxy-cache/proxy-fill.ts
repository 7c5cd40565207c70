import {
  type FillEnd,
  type FillPolicy,
  type Fills,
  firstField,
  freshnessOf,
  type LateWaiter,
  PROXY_LEASE_KIND,
  type ProxyAddress,
  type ProxyEntry,
  type SharedFill,
} from '@svc/cache'
import type { HeaderList } from '@svc/http'
import type { CacheClient, ProxyStatus, ServedEntry } from './cache-client.ts'
import type { ProxyParts } from './shared-response.ts'
import { UpstreamFetch } from './upstream-fetch.ts'

/** The keys of leases begin with it, before the key of the entry, which begins with the label and the URI. */
export const LEASE_KIND = `${PROXY_LEASE_KIND}\0`
/** How long other workers wait for an upstream to begin its response: past that each sends its own request. */
const HEAD_MS = 30_000
/** How long they wait for the rest of it. */
const BODY_MS = 5_000
/** How long a refresh in the background may last without a client: an upstream may send its body byte by byte, without an end. */
const REFRESH_MS = 300_000
/** How much longer than its limit a lease may be in transit. */
const MARGIN_MS = 1_000

/** The keys of the leases for a resource begin with this, whatever else its responses depend on. */
export function leasePrefix(label: string, uri: string): string {
  return `${LEASE_KIND}${label}\0${uri}\0`
}

/** The key under which an unstorable response to a request is remembered: credentials are a reason of their own. */
export function passKeyOf(key: string, request: HeaderList): string {
  return firstField(request, 'authorization') === undefined ? key : `${key}\0authorization`
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
  /** False: the response is not stored in any case. */
  readonly isStored: boolean
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

/** All clients that want the response to one request: the policy of the proxy cache for one fill. */
export class ProxyFill implements FillPolicy<CacheClient> {
  readonly shared: SharedFill<CacheClient, ProxyFill>
  readonly #start: ProxyFillStart
  readonly #parts: ProxyParts
  readonly #exits: ProxyFillExits
  #leader: CacheClient | undefined
  /** A stored response to validate. */
  #stale: ProxyEntry | undefined
  #fetch: UpstreamFetch | undefined
  #cancelLimit: (() => void) | undefined

  constructor(start: ProxyFillStart, parts: ProxyParts, fills: ProxyFills, exits: ProxyFillExits) {
    const { key, isShared, isStored, isRefresh } = start
    this.#start = start
    this.#parts = parts
    this.#exits = exits
    const waitMs = HEAD_MS + BODY_MS + MARGIN_MS
    const lease = { key: LEASE_KIND + key, waitMs, limitMs: HEAD_MS, isOptional: true, isOwn: !isShared }
    this.shared = fills.open(key, this, { lease: isStored ? lease : undefined, isRefresh, isPrivate: !isShared })
  }

  get address(): ProxyAddress {
    return this.#start.source.context.address
  }

  /** The key of the response to a client, as far as the head tells on which fields the response depends. */
  keyFor(client: CacheClient): string {
    return this.#fetch?.response?.keyFor(client) ?? this.#start.key
  }

  /** True if the response is for this client too, as far as is known. */
  suits(client: CacheClient): boolean {
    return this.#fetch?.response?.suits(client) !== false
  }

  /** Takes a client. */
  join(client: CacheClient): void {
    client.leave = () => {
      this.shared.leave(client)
      // A response that is being stored goes on, and a refresh never had a client.
      const isWanted = this.#leader?.isGone === false || this.shared.waiting > 0
      if (!isWanted && this.#leader !== undefined) this.#fetch?.abort()
    }
    this.shared.join(client)
  }

  /** Looks once more: another worker may have stored a response before this one got the lease, or a purge may have come. */
  ready(first: CacheClient | undefined): 'fill' | 'stored' {
    const { store, ledger, clock } = this.#parts
    if (!this.#start.mayValidate) return 'fill'
    store.entries.refresh()
    const { context, request } = first ?? this.#start.source
    const { found } = store.find(context.address, request.headers)
    if (found === undefined || !ledger.mayServe(found.entry.seq, found.entry, 'proxy')) return 'fill'
    if (freshnessOf(found.entry, clock.now()) === 'fresh') return 'stored'
    // Stored bytes are lent for this turn of the event loop alone.
    this.#stale = { key: found.key, entry: { ...found.entry, body: Buffer.from(found.entry.body) } }
    return 'fill'
  }

  produce(leader: CacheClient | undefined): void {
    const { source, isShared } = this.#start
    this.#leader = leader
    this.#fetch = new UpstreamFetch({
      parts: this.#parts,
      shared: this.shared,
      leader,
      requester: leader ?? source,
      stale: this.#stale,
      isShared,
      bodyMs: BODY_MS,
      onAnswer: () => {
        if (leader?.isGone === false) this.#answer(leader)
      },
    })
    if (this.shared.isRefresh) this.#limit()
    this.#fetch.start()
  }

  give(client: CacheClient): 'given' | 'again' {
    if (this.#fetch?.served === undefined && !this.suits(client)) return 'again'
    this.#answer(client)
    return 'given'
  }

  settled(end: FillEnd): void {
    const { passes, store } = this.#parts
    this.#cancelLimit?.()
    const isPersonal = end.kind === 'unshared' && end.detail === 'authorization'
    if (end.kind === 'pass' || isPersonal) passes.add(passKeyOf(this.#start.key, this.#start.source.request.headers), end.detail)
    if (end.kind !== 'elsewhere') return
    if (end.outcome === 'pass') passes.add(this.#start.key, 'other')
    else store.entries.refresh()
  }

  dismiss(client: CacheClient, reason: FillEnd | LateWaiter): void {
    switch (reason.kind) {
      case 'pass':
      case 'unshared':
        this.#exits.pass(client, reason.detail)
        return
      case 'failed':
        if (reason.error !== undefined) client.sink.fail(reason.error)
        else this.#answer(client)
        return
      case 'stored':
      case 'refused':
      case 'lost':
      case 'elsewhere':
      case 'late':
        this.#exits.again(client)
    }
  }

  /** Ends the fetch of a refresh at the end of its time, unless clients read the response. */
  #limit(): void {
    this.#cancelLimit = this.#parts.clock.after(REFRESH_MS, () => {
      const hasClients = this.shared.waiting > 0 || this.#fetch?.response?.hasReaders === true
      if (hasClients) this.#limit()
      else this.#fetch?.cut()
    })
  }

  /** Answers a client from the entry that takes the place of a response, or with the response. */
  #answer(client: CacheClient): void {
    const isCollapsed = client !== this.#leader
    const { served, refused, response } = this.#fetch ?? {}
    if (served === undefined) response?.deliver(client, { outcome: this.#start.reason, isCollapsed, refused })
    else if (isCollapsed && refused !== undefined) this.#exits.pass(client, refused)
    else this.#exits.serve(client, { ...served, isCollapsed })
  }
}
