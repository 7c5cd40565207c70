import {
  firstField,
  freshnessOf,
  invalidatedUris,
  isUnsafe,
  joinedField,
  mayBeShared,
  type ProxyAddress,
  type ProxyLookup,
  type Purge,
  purgeMatcher,
  storingOf,
  touchesLayer,
  uriTag,
} from '@svc/cache'
import { type HeaderList, parseCacheControl, type ResponseHead, type ResponseSink } from '@svc/http'
import type { CacheClient, ProxyStatus } from './cache-ask.ts'
import type { FlightParts, ServedEntry } from './flight-parts.ts'
import type { Invalidations } from './invalidations.ts'
import { KnownAddresses } from './known-addresses.ts'
import { ProxyFlight } from './proxy-flight.ts'
import { FileBody } from './readable-body.ts'
import { mayServeStale, mayServeWhileUpdating } from './stale-rules.ts'
import { sendEntry, sendFile } from './stored-answer.ts'
import { WatchedHead } from './watched-head.ts'

/** After this many answers that were not for it a request is sent on by itself. */
const MAX_ROUNDS = 3
/** Background validations of a worker at a time. */
const MAX_REVALIDATIONS = 32
/** A range that needs nothing to be waited for. */
const FROM_BEGINNING = /^bytes=0-\d*$/i
const noBytes = new Uint8Array(0)
/** How long a validation that failed is not tried again. */
const PAUSE_MS = 1_000

export interface ProxyCacheParts extends FlightParts {
  readonly invalidations: Invalidations
}

/** The cache in front of upstreams, in one worker: finds what is stored, or joins requests for it, or sends them on. */
export class ProxyCache {
  readonly addresses = new KnownAddresses()
  readonly #parts: ProxyCacheParts
  readonly #flights = new Map<string, ProxyFlight>()
  #revalidations = 0
  /** Key -> until when (monotonic ms) it is not validated in the background. */
  readonly #pauses = new Map<string, number>()

  constructor(parts: ProxyCacheParts) {
    this.#parts = parts
  }

  /** Answers a client, now or later. */
  fetch(client: CacheClient): void {
    const { request, ask } = client
    const { method } = request
    if ((method !== 'GET' && method !== 'HEAD') || request.body !== undefined) this.#passOther(client)
    else if (ask.isBypassed) this.#fly(client, ask.address.key, undefined, 'bypass')
    else this.#lookUp(client)
  }

  /** Whether an entry is there; notes that it was used. */
  isKept(key: string): boolean {
    return this.#parts.store.isKept(key)
  }

  /** Takes in a purge that the ledger knows. */
  purged(purge: Purge): void {
    if (!touchesLayer(purge, 'proxy')) return
    const isMatch = purgeMatcher(purge)
    for (const flight of [...this.#flights.values()]) {
      const { label, path, hostname, uri } = flight.address
      if (isMatch({ label, path, host: hostname, tags: [uriTag(uri)] })) flight.purged()
    }
    this.#parts.passes.clear()
  }

  #lookUp(client: CacheClient): void {
    const { ask, request } = client
    const lookup = this.#parts.store.find(ask.address, request.headers)
    const { found } = lookup
    const isServable = found !== undefined && this.#parts.ledger.mayServe(found.entry.seq, found.entry, 'proxy')
    if (!isServable) {
      this.#miss(client, { ...lookup, found: undefined })
      return
    }
    if (!mayBeShared(found.entry.headers, request.headers)) {
      this.#parts.metrics.proxyMisses.value++
      this.#fly(client, lookup.key, undefined, 'request')
      return
    }
    const now = this.#parts.clock.now()
    if (freshnessOf(found.entry, now) === 'fresh') this.#hit(client, { ...found, how: 'hit', isCollapsed: false })
    else if (mayServeStale(found.entry, now)) {
      // First: what the entry lends is for this turn, and serving may take longer.
      this.#revalidate(client, lookup)
      this.#hit(client, { ...found, how: 'stale', isCollapsed: false })
    } else this.#miss(client, lookup)
  }

  #hit(client: CacheClient, served: ServedEntry): void {
    this.#parts.metrics.proxyHits.value++
    this.#serve(client, served)
  }

  #serve(client: CacheClient, served: ServedEntry): void {
    const { store, clock } = this.#parts
    const { bodyFile } = served.entry
    if (bodyFile === undefined) {
      sendEntry(client, served, clock.now())
      return
    }
    client.leave = () => undefined
    void store.files.open(bodyFile).then((file) => {
      if (client.isGone) void file?.close()
      else if (file === undefined) this.#refill(client, served.key)
      else sendFile(client, served, new FileBody(file, bodyFile.bytes), clock.now())
    })
  }

  /** An entry has lost its body. */
  #refill(client: CacheClient, key: string): void {
    if (client.request.method === 'HEAD') this.#pass(client, 'miss')
    else this.#fly(client, key, undefined, 'miss')
  }

  #miss(client: CacheClient, lookup: ProxyLookup): void {
    const { request, ask } = client
    this.#parts.metrics.proxyMisses.value++
    if (parseCacheControl(joinedField(request.headers, 'cache-control')).onlyIfCached) {
      ask.report({ outcome: 'miss', detail: 'only-if-cached' })
      client.sink.whole({ status: 504, headers: [] }, noBytes)
      return
    }
    const { found, key } = lookup
    const outcome = found !== undefined ? 'stale' : lookup.hasVariants ? 'vary-miss' : 'uri-miss'
    const detail = this.#parts.passes.get(key)
    // What is not the whole of a response is neither kept nor waited for by others. Who begins at the beginning gets a part of the whole.
    const range = firstField(request.headers, 'range')
    const isPart = request.method === 'HEAD' || (range !== undefined && !FROM_BEGINNING.test(range))
    if (isPart && found === undefined) this.#pass(client, outcome, request.method === 'HEAD' ? 'head' : 'range')
    else if (request.method === 'GET' && detail !== undefined) this.#passKnown(client, key, outcome, detail)
    else if (request.method === 'HEAD' || client.rounds > MAX_ROUNDS) this.#pass(client, outcome, detail)
    else this.#fly(client, key, lookup, outcome)
  }

  #fly(client: CacheClient, key: string, lookup: ProxyLookup | undefined, reason: ProxyStatus['outcome']): void {
    const { ask, request } = client
    const isShared = lookup !== undefined && !ask.isUnkept && !isForItself(request.headers)
    const first = isShared ? this.#joinable(key) : undefined
    // A flight that has its head knows what the answer depends on, and so which one this client waits for.
    const own = first === undefined ? key : first.keyFor(client)
    const known = first === undefined || first.suits(client) ? first : this.#joinable(own)
    if (known === undefined) this.#begin(client, own, lookup, reason, isShared).begin(client)
    else if (known.stale !== undefined && mayServeWhileUpdating(known.stale, ask.rules.useStale)) {
      this.#serve(client, { key, entry: known.stale, how: 'stale', isCollapsed: true })
    } else known.join(client)
  }

  #joinable(key: string): ProxyFlight | undefined {
    const flight = this.#flights.get(key)
    return flight?.isJoinable === true ? flight : undefined
  }

  #begin(
    { ask, origin, request }: Pick<CacheClient, 'ask' | 'origin' | 'request'>,
    key: string,
    lookup: ProxyLookup | undefined,
    reason: ProxyStatus['outcome'],
    isShared: boolean,
  ): ProxyFlight {
    const start = { ask, origin, request, key, stale: lookup?.found, isShared, reason }
    const flight: ProxyFlight = new ProxyFlight(start, this.#parts, {
      again: (client) => this.#again(client),
      pass: (client, detail) => this.#pass(client, 'miss', detail),
      serve: (client, served) => this.#serve(client, served),
      closed: () => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key)
      },
    })
    if (isShared) this.#flights.set(key, flight)
    return flight
  }

  #again(client: CacheClient): void {
    if (client.isGone) return
    client.rounds++
    this.#lookUp(client)
  }

  /** Makes a stale entry anew; once at a time in the instance, by the lease of its flight. */
  #revalidate(client: CacheClient, lookup: ProxyLookup): void {
    const { key } = lookup
    const { clock } = this.#parts
    const now = clock.monotonic()
    const pausedUntil = this.#pauses.get(key) ?? 0
    if (this.#flights.has(key) || this.#revalidations >= MAX_REVALIDATIONS || now < pausedUntil) return
    if (this.#pauses.size > 10_000) this.#pauses.clear()
    this.#pauses.set(key, now + PAUSE_MS)
    const { clientAddress: _nobody, ...request } = client.request
    // It is for all: what this client wants of caches says nothing.
    const headers = request.headers.filter(([name]) => name !== 'cache-control')
    const isPlain = { ask: client.ask, origin: client.origin, request: { ...request, method: 'GET', headers } }
    this.#revalidations++
    const flight = this.#begin(isPlain, key, lookup, 'stale', true)
    void flight.over.then(() => {
      this.#revalidations--
    })
    flight.begin(undefined)
  }

  /** Sends a request on whose last answer could not be kept. One that could ends that: the other may have been the fault of who asked. */
  #passKnown(client: CacheClient, key: string, outcome: ProxyStatus['outcome'], detail: string): void {
    const { request, ask } = client
    const { clock, passes } = this.#parts
    const sentAt = clock.now()
    const watch = new WatchedHead(client.sink, (head) => {
      const ruleSeconds = ask.rules.validSeconds(head.status)
      const storing = storingOf({ request, head, ruleSeconds, sentAt, receivedAt: clock.now() })
      if (!('refused' in storing)) passes.delete(key)
      return undefined
    })
    this.#pass(client, outcome, detail, watch)
  }

  /** Sends a request on by itself. */
  #pass(client: CacheClient, outcome: ProxyStatus['outcome'], detail?: string, sink: ResponseSink = client.sink): void {
    if (client.isGone) return
    client.ask.report({ outcome, ...(detail !== undefined && { detail }) })
    client.origin.fetch(client.request, sink)
  }

  #passOther(client: CacheClient): void {
    const { request, ask, origin, sink } = client
    ask.report({ outcome: isUnsafe(request.method) ? 'method' : 'bypass' })
    const target = isUnsafe(request.method) ? new WatchedHead(sink, (head) => this.#invalidate(ask.address, head)) : sink
    origin.fetch(request, target)
  }

  #invalidate({ label, uri }: ProxyAddress, head: ResponseHead): Promise<void> | undefined {
    const { store, invalidations } = this.#parts
    const uris = invalidatedUris(uri, head)
    if (uris.length === 0) return undefined
    const flying = new Set(Array.from(this.#flights.values(), ({ address }) => address.uri))
    const isKnown = uris.some((one) => flying.has(one) || store.hasUri(one))
    return invalidations.add(label, uris, isKnown)
  }
}

/** Whether what is answered to a request says nothing of what others would be answered: it has credentials, or must not be kept. */
function isForItself(headers: HeaderList): boolean {
  if (firstField(headers, 'authorization') !== undefined) return true
  return parseCacheControl(joinedField(headers, 'cache-control')).noStore
}
