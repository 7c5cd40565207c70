import {
  Fills,
  firstField,
  freshnessOf,
  invalidatedUris,
  isUnsafe,
  joinedField,
  mayBeShared,
  type ProxyAddress,
  type ProxyLookup,
  type Purge,
  RetryPauses,
  storingOf,
  touchesLayer,
} from '@svc/cache'
import { BodyBlocks, parseCacheControl, type ResponseHead, type ResponseSink } from '@svc/http'
import { type CacheClient, type ProxyStatus, type ServedEntry, wordOfForward } from './cache-client.ts'
import type { Invalidations } from './invalidations.ts'
import { KnownAddresses } from './known-addresses.ts'
import { ProxyFill, type ProxyFillStart, type ProxyFills, passKeyOf } from './proxy-fill.ts'
import { sendEntry, sendFile } from './send-entry.ts'
import { type ProxyParts, purgeableAt } from './shared-response.ts'
import { mayServeStale, mayServeWhileUpdating } from './stale-rules.ts'
import { UseCounts } from './use-counts.ts'
import { WatchedHead } from './watched-head.ts'

/** After so many fills whose response was not for it a request is sent on by itself. */
const MAX_ROUNDS = 3
/** A range that is a part of the whole response from its beginning. */
const FROM_BEGINNING = /^bytes=0-\d*$/i
const noBytes = new Uint8Array(0)
/** A stale entry is refreshed no more often than this. */
const PAUSE_MS = 1_000

/** Read from a file at once: enough that a file is read in few turns, and little enough for many clients. */
const BLOCK_BYTES = 128 << 10

interface ProxyCacheParts extends Omit<ProxyParts, 'blocks'> {
  readonly invalidations: Invalidations
}

/** The cache in front of upstreams, in one worker: answers from the store, joins requests for the same, or sends them on. */
export class ProxyCache {
  readonly addresses = new KnownAddresses()
  readonly #parts: ProxyParts & ProxyCacheParts
  readonly #fills: ProxyFills
  readonly #pauses: RetryPauses
  readonly #uses = new UseCounts()

  constructor(parts: ProxyCacheParts) {
    const { ledger, leases, clock, onProblem } = parts
    this.#parts = { ...parts, blocks: new BodyBlocks(BLOCK_BYTES) }
    this.#fills = new Fills({ ledger, leases, clock, onProblem })
    this.#pauses = new RetryPauses(clock, () => PAUSE_MS)
  }

  /** Answers a client, now or later. */
  fetch(client: CacheClient): void {
    const { request, context } = client
    const { method } = request
    if ((method !== 'GET' && method !== 'HEAD') || request.body !== undefined) this.#passOther(client)
    else if (context.isBypassed) this.#fill(client, context.address.key, undefined, 'bypass')
    else this.#lookUp(client)
  }

  /** Notes that a copy of an entry was used. False: the store has no such entry any more. */
  touch(key: string): boolean {
    return this.#parts.store.touch(key)
  }

  /** Takes in a purge that the ledger knows. */
  purged(purge: Purge): void {
    if (!touchesLayer(purge, 'proxy')) return
    this.#parts.passes.clear()
  }

  #lookUp(client: CacheClient): void {
    const { context, request } = client
    const lookup = this.#parts.store.find(context.address, request.headers)
    const { found } = lookup
    const isServable = found !== undefined && this.#parts.ledger.mayServe(found.entry.seq, found.entry, 'proxy')
    if (!isServable) {
      this.#miss(client, { ...lookup, found: undefined })
      return
    }
    if (!mayBeShared(found.entry.headers, request.headers)) {
      this.#parts.metrics.proxyMisses.value++
      this.#fill(client, lookup.key, undefined, 'request')
      return
    }
    const now = this.#parts.clock.now()
    const { key, entry } = found
    const { rules } = context
    if (freshnessOf(entry, now) === 'fresh') this.#hit(client, { key, entry, how: 'hit', isCollapsed: false })
    else if (mayServeStale(entry, now) || (rules.isRefreshedBehind && mayServeWhileUpdating(entry, rules.useStale))) {
      // First, because the bytes of the entry are lent for this turn, and serving may take longer.
      this.#refresh(client, lookup)
      this.#hit(client, { key, entry, how: 'stale', isCollapsed: false })
    } else this.#miss(client, lookup)
  }

  #hit(client: CacheClient, served: ServedEntry): void {
    this.#parts.metrics.proxyHits.value++
    this.#serve(client, served)
  }

  #serve(client: CacheClient, served: ServedEntry): void {
    const { store, clock, blocks } = this.#parts
    const { bodyFile } = served.entry
    if (bodyFile === undefined) {
      sendEntry(client, served, clock.now())
      return
    }
    client.leave = undefined
    void store.files.open(bodyFile).then((file) => {
      if (client.isGone) void file?.close()
      else if (file === undefined) this.#refill(client, served.key)
      else sendFile(client, served, file, blocks, clock.now())
    })
  }

  /** An entry has lost its body. */
  #refill(client: CacheClient, key: string): void {
    if (client.request.method === 'HEAD') this.#pass(client, 'miss')
    else this.#fill(client, key, undefined, 'miss')
  }

  #miss(client: CacheClient, lookup: ProxyLookup): void {
    const { request, context } = client
    this.#parts.metrics.proxyMisses.value++
    if (parseCacheControl(joinedField(request.headers, 'cache-control')).onlyIfCached) {
      context.report({ outcome: 'miss', detail: 'only-if-cached' }, 'MISS')
      client.sink.whole({ status: 504, headers: [] }, noBytes)
      return
    }
    const { found, key } = lookup
    const outcome = found !== undefined ? 'stale' : lookup.hasVariants ? 'vary-miss' : 'uri-miss'
    const passKey = passKeyOf(key, request.headers)
    const detail = this.#parts.passes.get(passKey)
    // A partial response is neither cached nor shared. A range that begins at byte 0 is served from the complete response.
    const range = firstField(request.headers, 'range')
    const isPart = request.method === 'HEAD' || (range !== undefined && !FROM_BEGINNING.test(range))
    if (isPart && found === undefined) this.#pass(client, outcome, request.method === 'HEAD' ? 'head' : 'range')
    else if (request.method === 'GET' && detail !== undefined) this.#passKnown(client, passKey, outcome, detail)
    else if (context.rules.minUses > 1 && this.#uses.add(key) < context.rules.minUses) this.#pass(client, outcome, 'min-uses')
    else if (request.method === 'HEAD' || client.rounds > MAX_ROUNDS) this.#pass(client, outcome, detail)
    else this.#fill(client, key, lookup, outcome)
  }

  #fill(client: CacheClient, key: string, lookup: ProxyLookup | undefined, reason: ProxyStatus['outcome']): void {
    const { context, request } = client
    const { noStore } = parseCacheControl(joinedField(request.headers, 'cache-control'))
    const isStored = !context.mustNotStore && !noStore
    const isShared = lookup !== undefined && isStored && firstField(request.headers, 'authorization') === undefined
    const first = isShared ? this.#joinable(key, context.address) : undefined
    // A fill that has its head knows on which fields the response depends, and so which fill is that of this client.
    const own = first?.keyFor(client) ?? key
    const known = first === undefined || first.suits(client) ? first : this.#joinable(own, context.address)
    if (known === undefined) {
      const mayValidate = lookup !== undefined
      const fill = this.#open({ source: client, key: own, mayValidate, isShared, isStored, isRefresh: false, reason })
      fill.join(client)
      fill.shared.start()
    } else if (lookup?.found !== undefined && mayServeWhileUpdating(lookup.found.entry, context.rules.useStale)) {
      this.#serve(client, { ...lookup.found, how: 'stale', isCollapsed: true })
    } else {
      this.#parts.metrics.coalesced.value++
      known.join(client)
    }
  }

  #joinable(key: string, address: ProxyAddress): ProxyFill | undefined {
    return this.#fills.joinable(key, purgeableAt(address), 'proxy')?.policy
  }

  #open(start: ProxyFillStart): ProxyFill {
    return new ProxyFill(start, this.#parts, this.#fills, {
      again: (client) => this.#again(client),
      pass: (client, detail) => this.#pass(client, 'miss', detail),
      serve: (client, served) => this.#serve(client, served),
    })
  }

  #again(client: CacheClient): void {
    if (client.isGone) return
    client.rounds++
    this.#lookUp(client)
  }

  /** Refreshes a stale entry in the background: one request at a time in the instance, by the lease of its fill. */
  #refresh({ context, origin, request: clientRequest }: CacheClient, { key }: ProxyLookup): void {
    const isInFlight = this.#joinable(key, context.address) !== undefined
    if (isInFlight || !this.#fills.hasRoomToRefresh(key) || this.#pauses.isPaused(key)) return
    this.#pauses.failed(key)
    const { trail: _trail, ...request } = clientRequest
    // It is for all: the wishes of this client do not count.
    const headers = request.headers.filter(([name]) => name !== 'cache-control')
    const source = { context, origin, request: { ...request, method: 'GET', headers } }
    this.#open({
      source,
      key,
      mayValidate: true,
      isShared: true,
      isStored: true,
      isRefresh: true,
      reason: 'stale',
    }).shared.start()
  }

  /** Sends a request on whose last response could not be stored. One that could be ends that: the other may have been due to its client. */
  #passKnown(client: CacheClient, key: string, outcome: ProxyStatus['outcome'], detail: string): void {
    const { request, context } = client
    const { clock, passes } = this.#parts
    const sentAt = clock.now()
    const watch = new WatchedHead(client.sink, (head) => {
      const { ignoredFields } = context.rules
      const ruleSeconds = context.rules.validSeconds(head.status)
      const storing = storingOf({ request, head, ruleSeconds, ignoredFields, sentAt, receivedAt: clock.now() })
      if (!('refused' in storing)) passes.delete(key)
      return undefined
    })
    this.#pass(client, outcome, detail, watch)
  }

  /** Sends a request on by itself. */
  #pass(client: CacheClient, outcome: ProxyStatus['outcome'], detail?: string, sink: ResponseSink = client.sink): void {
    if (client.isGone) return
    client.context.report({ outcome, ...(detail !== undefined && { detail }) }, wordOfForward(outcome))
    client.origin.fetch(client.request, sink)
  }

  #passOther(client: CacheClient): void {
    const { request, context, origin, sink } = client
    context.report({ outcome: isUnsafe(request.method) ? 'method' : 'bypass' }, '')
    const target = isUnsafe(request.method) ? new WatchedHead(sink, (head) => this.#invalidate(context.address, head)) : sink
    origin.fetch(request, target)
  }

  #invalidate({ label, uri }: ProxyAddress, head: ResponseHead): Promise<void> | undefined {
    const { store, invalidations } = this.#parts
    const uris = invalidatedUris(uri, head)
    if (uris.length === 0) return undefined
    const inFlight = new Set(this.#fills.policies.map(({ address }) => address.uri))
    const isKnown = uris.some((one) => inFlight.has(one) || store.hasUri(one))
    return invalidations.add(label, uris, isKnown)
  }
}
