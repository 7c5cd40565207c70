import {
  hasForeignCookie,
  L0Cache,
  type L0Entry,
  type L0Origin,
  l0KeyPrefix,
  l0KeyTarget,
  type Purge,
  type PurgeLedger,
} from '@svc/cache'
import type { TurnClock } from '@svc/core'
import type { ReadyEnd, ReadyRequest, ReadyResponse, ReadyResponses } from '@svc/engine'
import { HeaderBlocks, type ReadyHead, readyHeadOf } from '@svc/engine'
import { type ClientInfo, type ContentCoding, clientOf, encodingClass, equalWeakly, parseEntityTags } from '@svc/http'

import type { WorkerCacheStats } from '@svc/protocol'
import { type HttpMetrics, type HttpSeries, L0Metrics, latencyBin, type MetricSet, type RequestTrace } from '@svc/telemetry'
import { type Affinity, isNewVisit } from '../generation/affinity.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { RateLimiter } from '../rate-limit/rate-limiter.ts'
import type { HitLogs } from '../request/formatted-logs.ts'
import type { L0Admission, WorkerFacts } from '../request/l0-capture.ts'
import type { RealIp } from '../request/real-ip.ts'
import type { HitRequest } from '../request/request-log.ts'
import type { SiteCounter } from '../traffic/site-counter.ts'
import type { WorkerTraffic } from '../traffic/worker-traffic.ts'
import { dropOutdated } from './drop-outdated.ts'
import { type HitClient, hitRequest } from './hit-request.ts'
import { type HitTracer, recordHit, sampledTrace } from './hit-trace.ts'
import { partOf, readSpecial } from './special-read.ts'

/** Writes down hits in the access log. */
interface HitLog {
  /** True if there is an access log. */
  readonly isWritten: boolean
  /** One request that L0 has answered. */
  hit(request: HitRequest, status: number, bytes: number, durationMs: number): void
}

/** Dependencies of L0. */
interface WorkerL0Options {
  /** The generation that new requests are served by. */
  readonly generation: () => ServingGeneration
  readonly ledger: PurgeLedger
  readonly metrics: MetricSet
  readonly httpMetrics: HttpMetrics
  readonly traffic: WorkerTraffic
  readonly limiter: RateLimiter
  readonly log: () => HitLog
  readonly makeRequestId: () => string
  readonly tracer: HitTracer
  readonly clock: TurnClock
  readonly onProblem: (error: Error) => void
}

type Entry = L0Entry<ReadyHead, WorkerFacts>

/** A response in flight, in one object for all. */
interface Answer extends ReadyResponse {
  head: ReadyHead
  body: Uint8Array | undefined
  length: string
}

/** Of so many hits that are handed over at once, the duration of one is measured and stands for all; all are counted. */
const HITS_PER_MEASUREMENT = 16

const noHead: ReadyHead = { status: 500, bytes: new Uint8Array(0) }

/** L0 of a worker: answers reads before the pipeline, and admits responses that the pipeline offers. */
export class WorkerL0 implements ReadyResponses {
  readonly #options: WorkerL0Options
  readonly #blocks: HeaderBlocks
  readonly #metrics: L0Metrics
  #cache: L0Cache<ReadyHead, WorkerFacts> | undefined
  #evictedBefore = 0
  /** How responses enter it; undefined: L0 is not in use. Written here alone. */
  admission: L0Admission | undefined
  /** Key part of the listen address; undefined if all addresses serve the same. */
  #addresses: ReadonlyMap<string, string> | undefined
  /** Set where browsers get a cookie with the first page that they open: the pipeline sends it. */
  #affinity: Affinity | undefined
  #ownCookie = ''
  readonly #answer: Answer = { head: noHead, body: undefined, length: '' }
  // Of the request that is answered.
  #startedAt = 0
  #series: HttpSeries | undefined
  #hit: HitRequest | undefined
  #counter: SiteCounter | undefined
  /** Of the hit that was measured last: looking at the clock again costs as much as finding the entry. */
  #durationMs = 0
  #latencyBin = 0
  #untilMeasured = 0
  // Of the last request that was not answered from here.
  #outcome: 'miss' | 'skip' = 'skip'
  #isSkipped = false
  // Requests come in runs: the result of the last one mostly fits the next one.
  #lastAccept: string | undefined
  #lastCoding: ContentCoding = 'identity'
  #lastOrigin: L0Origin = { scheme: 'http', host: '' }
  #lastPrefixCoding: ContentCoding = 'identity'
  #lastPrefix = l0KeyPrefix(this.#lastOrigin, this.#lastPrefixCoding)

  constructor(options: WorkerL0Options) {
    this.#options = options
    this.#blocks = new HeaderBlocks(options.onProblem)
    this.#metrics = new L0Metrics(options.metrics, () => ({
      entries: this.#cache?.entries ?? 0,
      bytes: this.#cache?.bytes ?? 0,
      evictions: this.#evictedBefore + (this.#cache?.evictions ?? 0),
    }))
  }

  /** A generation takes over: responses that may be different under it are dropped. */
  apply(next: ServingGeneration, previous: ServingGeneration | undefined): void {
    this.#addresses = addressMarks(next)
    this.#affinity = next.affinity
    this.#ownCookie = next.config.scaling.session_cookie_name
    const { enabled, max_bytes: maxBytes, max_entry_bytes: maxEntryBytes } = next.config.cache.l0
    const before = previous?.config.cache.l0
    const isResized = before?.enabled !== enabled || before.max_bytes !== maxBytes || before.max_entry_bytes !== maxEntryBytes
    if (!isResized) {
      if (this.#cache !== undefined && previous !== undefined) dropOutdated(this.#cache, next, previous)
      this.#cache?.setWeights(weightsOf(next))
      return
    }
    this.#evictedBefore += this.#cache?.evictions ?? 0
    this.#use(
      enabled && maxBytes > 0
        ? new L0Cache({ maxBytes, maxEntryBytes }, (head) => readyHeadOf(this.#blocks.of(head)))
        : undefined,
    )
    this.#cache?.setWeights(weightsOf(next))
  }

  /** Drops the entries that a purge covers. @returns how many */
  purge(purge: Purge): number {
    return this.#cache?.purge(purge) ?? 0
  }

  clear(): void {
    this.#cache?.clear()
  }

  stats(): WorkerCacheStats {
    return { l0Entries: this.#cache?.entries ?? 0, l0Bytes: this.#cache?.bytes ?? 0 }
  }

  find(ask: ReadyRequest): ReadyResponse | undefined {
    const cache = this.#cache
    if (cache === undefined) return undefined
    const startedAt = this.#options.clock.turn()
    const { limiter } = this.#options
    if (limiter.isOn && !limiter.passes(this.#countedAddress(ask), startedAt)) return undefined
    const entry =
      ask.isSpecial || this.#affinity !== undefined
        ? this.#findSpecial(cache, ask, startedAt)
        : this.#findPlain(cache, ask, startedAt)
    if (entry === undefined) {
      this.#metrics.misses.value++
      this.#outcome = this.#isSkipped ? 'skip' : 'miss'
      this.#isSkipped = false
      return undefined
    }
    if (limiter.isOn) limiter.answeredByL0()
    this.#metrics.hits.value++
    this.#startedAt = startedAt
    this.#series = ask.method === 'GET' ? entry.facts.get : entry.facts.head
    const { traffic } = entry.facts
    this.#counter = traffic
    const weight = traffic.takeWeight()
    if (weight > 0) this.#countNames(ask, entry.facts, weight)
    const { tracer, generation } = this.#options
    const trace = tracer.isOn ? sampledTrace(tracer, ask, generation().trustedProxies) : undefined
    const { accessLogs, hitLogs } = entry.facts
    const isLogged = (accessLogs.length > 0 || hitLogs !== undefined) && this.#options.log().isWritten
    if (isLogged || trace !== undefined) this.#hit = this.#hitOf(ask, entry, trace)
    return this.#answer
  }

  /** Why L0 has not answered the request that begins in this turn. */
  takeOutcome(): 'miss' | 'skip' {
    const outcome = this.#outcome
    this.#outcome = 'skip'
    return outcome
  }

  sent(): void {
    const { head, body } = this.#answer
    const bytes = body === undefined ? 0 : body.byteLength
    if (this.#untilMeasured-- === 0 || this.#hit !== undefined) {
      this.#durationMs = this.#options.clock.monotonic() - this.#startedAt
      this.#untilMeasured = HITS_PER_MEASUREMENT - 1
      this.#latencyBin = latencyBin(this.#durationMs)
    }
    const durationMs = this.#durationMs
    this.#series?.record(head.status, durationMs, 0, bytes)
    this.#counter?.record(head.status, bytes, this.#latencyBin)
    this.#counter?.recordHit('l0')
    if (this.#hit === undefined) return
    this.#ended(this.#hit, head.status, bytes, durationMs)
    this.#hit = undefined
  }

  sentLater(): ReadyEnd {
    const { head, body } = this.#answer
    const bytes = body?.byteLength ?? 0
    const startedAt = this.#startedAt
    const series = this.#series
    const counter = this.#counter
    const hit = this.#hit
    this.#hit = undefined
    return () => {
      const durationMs = this.#options.clock.monotonic() - startedAt
      series?.record(head.status, durationMs, 0, bytes)
      counter?.record(head.status, bytes, latencyBin(durationMs))
      counter?.recordHit('l0')
      if (hit !== undefined) this.#ended(hit, head.status, bytes, durationMs)
    }
  }

  #ended(hit: HitRequest, status: number, bytes: number, durationMs: number): void {
    this.#options.log().hit(hit, status, bytes, durationMs)
    recordHit(this.#options.tracer, hit, status, bytes, durationMs)
  }

  #use(cache: L0Cache<ReadyHead, WorkerFacts> | undefined): void {
    this.#cache = cache
    this.admission = cache && {
      cache,
      ledger: this.#options.ledger,
      metrics: this.#options.httpMetrics,
      traffic: this.#options.traffic,
      clock: this.#options.clock,
      filling: new Set(),
      addressOf: (listener) => this.#addresses?.get(listener),
      isServed: (generation) => this.#cache === cache && this.#options.generation().number === generation,
    }
  }

  #findPlain(cache: L0Cache<ReadyHead, WorkerFacts>, ask: ReadyRequest, now: number): Entry | undefined {
    const prefix = this.#prefixOf(ask, this.#codingOf(ask.acceptEncoding))
    const entry = cache.find(prefix, l0KeyTarget(ask.target, ask.parsed), now)
    return entry !== undefined && this.#prepare(ask, entry) ? entry : undefined
  }

  /** Fields that make a request special may still leave it to be answered from here. */
  #findSpecial(cache: L0Cache<ReadyHead, WorkerFacts>, ask: ReadyRequest, now: number): Entry | undefined {
    if (this.#affinity !== undefined) {
      if (isNewVisit(this.#affinity, ask.hasCookie ? ask.field('cookie') : undefined, ask.field('sec-fetch-mode'))) {
        this.#isSkipped = true
        return undefined
      }
      if (!ask.isSpecial) return this.#findPlain(cache, ask, now)
    }
    const special = readSpecial(ask, this.#options.generation().trustedProxies, this.#addresses?.get(ask.listener))
    if (special === undefined) {
      this.#isSkipped = true
      return undefined
    }
    const { origin, range } = special
    // Ranges are cut from uncompressed bodies.
    const coding = range === undefined ? this.#codingOf(ask.acceptEncoding) : 'identity'
    const entry = cache.find(l0KeyPrefix(origin, coding), l0KeyTarget(ask.target, ask.parsed), now)
    if (entry === undefined || !this.#prepare(ask, entry)) return undefined
    if (range === undefined || this.#answer.head.status === 304) return entry
    const part = partOf(entry, range)
    if (part === undefined) return undefined
    this.#answer.head = readyHeadOf(this.#blocks.of(part.head))
    this.#answer.body = part.body
    return entry
  }

  /** Sets the response that an entry gives; false: it is not for this request. */
  #prepare(ask: ReadyRequest, entry: Entry): boolean {
    const { isOfSpelling, terms } = entry.facts
    if (isOfSpelling && ask.parsed.path !== ask.parsed.rawPath) return false
    if (terms !== undefined && !terms.isLikeOthers(ask)) return false
    if (ask.hasCookie && entry.facts.dependsOnCookies && hasForeignCookie(ask.field('cookie'), this.#ownCookie)) return false
    const answer = this.#answer
    const { ifNoneMatch } = ask
    answer.length = ''
    if (ifNoneMatch !== undefined && entry.block.status === 200 && isMatch(ifNoneMatch, entry.etag)) {
      answer.head = entry.notModified
      answer.body = undefined
      return true
    }
    answer.head = entry.block
    answer.body = ask.method === 'HEAD' || entry.block.status === 204 ? undefined : entry.body
    if (ask.method === 'HEAD' && entry.block.status !== 204) answer.length = String(entry.body.byteLength)
    return true
  }

  #countedAddress(ask: ReadyRequest): string {
    const address = ask.countedAddress()
    return this.#options.generation().trustedProxies.contains(address) ? this.#clientOf(ask).address : address
  }

  #clientOf(ask: ReadyRequest, realIp?: RealIp): ClientInfo {
    const { scheme, host } = ask
    const address = ask.countedAddress()
    const trusted = this.#options.generation().trustedProxies
    const client = trusted.contains(address)
      ? clientOf({ scheme, host, remoteAddress: address, headers: ask.fieldList() }, trusted)
      : { address, scheme, host, isPeerTrusted: false }
    return realIp === undefined ? client : realIp.clientOf(client, { headers: ask.fieldList(), proxied: ask.proxied })
  }

  #countNames(ask: ReadyRequest, { traffic, realIp }: WorkerFacts, weight: number): void {
    const client = this.#clientOf(ask, realIp)
    const origin = `${client.scheme}://${client.host}`
    traffic.recordNames({ path: ask.parsed.path, referrer: ask.field('referer'), origin, client: client.address }, weight)
  }

  #hitOf(ask: ReadyRequest, { facts }: Entry, trace: RequestTrace | undefined): HitRequest {
    const { method, parsed } = ask
    const client = this.#clientOf(ask, facts.realIp)
    const givenId = client.isPeerTrusted ? ask.field('x-request-id') : undefined
    return {
      requestId: givenId ?? (trace === undefined ? undefined : this.#options.makeRequestId()),
      logs: facts.accessLogs,
      formatted: facts.hitLogs && this.#formattedOf(ask, facts.hitLogs, { client, givenId }),
      trace,
      pathGroup: facts.pathGroup,
      scheme: client.scheme,
      host: client.host,
      site: facts.site,
      method,
      path: parsed.rawPath,
      client: client.address,
      userAgent: ask.field('user-agent') ?? '',
      referrer: ask.field('referer') ?? '',
      httpVersion: ask.httpVersion,
    }
  }

  #formattedOf(ask: ReadyRequest, logs: HitLogs, { client, givenId }: HitClient): NonNullable<HitRequest['formatted']> {
    const request = hitRequest(ask, {
      client,
      startedAt: this.#startedAt,
      requestId: () => givenId ?? this.#options.makeRequestId(),
    })
    return { logs, request, head: this.#answer.head }
  }

  #codingOf(acceptEncoding: string | undefined): ContentCoding {
    if (acceptEncoding !== this.#lastAccept) {
      this.#lastAccept = acceptEncoding
      this.#lastCoding = encodingClass(acceptEncoding)
    }
    return this.#lastCoding
  }

  #prefixOf({ scheme, host, listener }: ReadyRequest, coding: ContentCoding): string {
    const last = this.#lastOrigin
    const address = this.#addresses?.get(listener)
    if (host !== last.host || coding !== this.#lastPrefixCoding || scheme !== last.scheme || address !== last.address) {
      this.#lastOrigin = { scheme, host, address }
      this.#lastPrefixCoding = coding
      this.#lastPrefix = l0KeyPrefix(this.#lastOrigin, coding)
    }
    return this.#lastPrefix
  }
}

function weightsOf({ sites }: ServingGeneration): ReadonlyMap<string, number> {
  return new Map(Array.from(sites.values(), ({ config: { label, cache_weight: weight } }) => [label, weight]))
}

/** Servers of vhost files answer on their own addresses; sites answer the same on all. */
function addressMarks({ hasVhosts, spec }: ServingGeneration): ReadonlyMap<string, string> | undefined {
  if (!hasVhosts || spec.listen.length < 2) return undefined
  return new Map(spec.listen.map(({ name }) => [name, name.replaceAll('/', '|')]))
}

function isMatch(ifNoneMatch: string, etag: string | undefined): boolean {
  if (etag === undefined) return ifNoneMatch.trim() === '*'
  if (ifNoneMatch === etag) return true
  const tags = parseEntityTags(ifNoneMatch)
  return tags === '*' || tags.some((tag) => equalWeakly(tag, etag))
}
