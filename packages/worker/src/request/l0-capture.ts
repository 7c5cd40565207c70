import {
  type Fill,
  isCredentialFree,
  type L0Cache,
  type L0Facts,
  type L0Key,
  type L0Offer,
  l0KeyPrefix,
  l0KeyTarget,
  mayEnterL0,
  type Purgeable,
  type PurgeLedger,
  storablePath,
} from '@svc/cache'
import { asError, type Clock } from '@svc/core'
import type { ReadyHead } from '@svc/engine'
import { type ClientInfo, type ContentCoding, encodingClass, type HttpRequest, parseHost, type ResponseHead } from '@svc/http'
import type { HttpMetrics, HttpSeries, LogNames } from '@svc/telemetry'
import type { CompressionTerms } from '../compression/index.ts'
import type { SiteCounter } from '../traffic/site-counter.ts'
import type { WorkerTraffic } from '../traffic/worker-traffic.ts'
import type { FormattedLogs, HitLogs } from './formatted-logs.ts'
import { BodyCopy, L0Fill, type L0FillOptions } from './l0-fill.ts'
import type { RealIp } from './real-ip.ts'

/** Notes of a worker on a response in L0, so that a hit is counted and logged like any other response. */
export interface WorkerFacts extends L0Facts {
  /** Id of the site. */
  readonly site: string
  readonly pathGroup: string
  /** Access logs that requests for it are written to. */
  readonly accessLogs: LogNames
  /** Finds the client behind proxies that a vhost file names. */
  readonly realIp: RealIp | undefined
  /** Further logs; undefined: there are none. */
  readonly hitLogs: HitLogs | undefined
  /** True if it is for the path as it was spelled: normalised. */
  readonly isOfSpelling: boolean
  /** Terms on which it was compressed, or was not; undefined: those of the server. */
  readonly terms: CompressionTerms | undefined
  readonly get: HttpSeries
  readonly head: HttpSeries
  readonly traffic: SiteCounter
}

/** The request that an offer is made for. */
export interface OfferingRequest {
  readonly request: HttpRequest
  readonly client: ClientInfo
  /** Number of the generation that answers. */
  readonly generation: number
  /** Id of the site. */
  readonly site: string
  readonly pathGroup: string
  /** Access logs that requests for the same are written to. */
  readonly accessLogs: LogNames
  readonly realIp: RealIp | undefined
  readonly formattedLogs: FormattedLogs | undefined
  /** `scaling.session_cookie_name` */
  readonly affinityCookie: string
  /** True if another spelling of the same path may be answered otherwise. */
  readonly isOfSpelling: boolean
  /** True if hits do not say that they are some. */
  readonly hidesStatus: boolean
  /** Terms of the location on which it is compressed; undefined: those of the server. */
  readonly terms: CompressionTerms | undefined
}

/** L0 as responses enter it. */
export interface L0Admission {
  readonly cache: L0Cache<ReadyHead, WorkerFacts>
  readonly ledger: PurgeLedger
  readonly metrics: HttpMetrics
  readonly traffic: WorkerTraffic
  readonly clock: Clock
  /** Names of the keys whose responses are being made for L0 alone. */
  readonly filling: Set<string>
  /** Key part of the listen address; undefined if all addresses serve the same. */
  addressOf(listener: string): string | undefined
  /** True if the cache is still in use, and this generation the one that is served. */
  isServed(generation: number): boolean
}

/** L0 as requests that it has not answered see it. */
export interface L0Passage {
  /** How responses enter it; undefined: it is not in use. */
  readonly admission: L0Admission | undefined
  /** Why it has not answered the request that begins in this turn: it has no response, or was not asked for one. */
  takeOutcome(): 'miss' | 'skip'
}

/** A response that its client does not get whole. */
interface UnsentWhole {
  readonly head: ResponseHead
  /** Length of its body as it is, before compression. */
  readonly bytes: number
  /** Sends it, at once or later. False: it could not be sent. */
  send(taker: L0Fill): boolean
}

/** The way of one response into L0: it is offered, and copied while it is sent, or made whole beside the one that is sent. */
export class L0Capture {
  /** True if the response is kept out of L0. Written here alone. */
  isWithdrawn = false
  #ticket: AdmissionTicket | undefined
  #fill: L0Fill | undefined
  /** A streamed response as far as it has been sent. */
  #copy: { readonly head: ResponseHead; readonly body: BodyCopy } | undefined

  /** Must not be called once it is withdrawn. @returns true if L0 wants the response */
  offer(admission: L0Admission, offering: OfferingRequest, offer: L0Offer): boolean {
    this.#ticket?.end()
    this.#ticket = admit(admission, offering, offer)
    return this.#ticket !== undefined
  }

  /** Has the whole response made that was offered, where the client gets less of it. */
  fill({ head, bytes, send }: UnsentWhole, options: Omit<L0FillOptions, 'ticket'>): void {
    const ticket = this.#ticket
    this.#ticket = undefined
    if (ticket === undefined) return
    if (bytes > ticket.maxBytes || !ticket.mayStore(options.finalHead(head)) || !ticket.beginFill()) {
      ticket.end()
      return
    }
    const fill = new L0Fill({ ...options, ticket })
    this.#fill = fill
    try {
      if (!send(fill)) fill.drop()
    } catch (error) {
      fill.drop()
      options.onProblem(asError(error))
    }
  }

  /** Keeps the response out of L0 for good. */
  withdraw(): void {
    this.isWithdrawn = true
    this.#end()
    this.#fill?.drop()
  }

  /** A complete response is about to be sent. `body`: undefined where the client gets none of it. */
  store(head: ResponseHead, body: Uint8Array | undefined): void {
    if (body !== undefined) this.#ticket?.store(head, body)
    this.#end()
  }

  /** A response of so many bytes is about to be streamed. */
  startCopy(head: ResponseHead, bytes: number): void {
    const ticket = this.#ticket
    if (ticket === undefined) return
    if (bytes > ticket.maxBytes) this.#end()
    else this.#copy = { head, body: new BodyCopy(ticket.maxBytes) }
  }

  add(chunk: Uint8Array): void {
    if (this.#copy?.body.add(Buffer.from(chunk)) === false) this.#end()
  }

  /** The exchange has ended. */
  closed(isAborted: boolean): void {
    if (!isAborted && this.#copy !== undefined) this.#ticket?.store(this.#copy.head, this.#copy.body.whole())
    this.#end()
  }

  #end(): void {
    this.#ticket?.end()
    this.#ticket = undefined
    this.#copy = undefined
  }
}

/** Opens a ticket for a response that L0 admits: offered for the second time, to a client without credentials, and not purged. */
function admit(tools: L0Admission, offering: OfferingRequest, offer: L0Offer): AdmissionTicket | undefined {
  const { request, client } = offering
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
  if (storablePath(request.path) === undefined || storablePath(offer.path) === undefined) return undefined
  if (!isCredentialFree(request, offer.dependsOnCookies, offering.affinityCookie) || !tools.isServed(offering.generation))
    return undefined
  const purgeables = purgeablesOf(offering, offer)
  const made = { seq: offer.seq ?? tools.ledger.last }
  const isPurged = (entry: Purgeable) =>
    !tools.ledger.mayServe(made.seq, entry, 'l0') || !tools.ledger.mayStore(made, entry, 'l0')
  if (purgeables.some(isPurged)) return undefined
  const coding = encodingClass(request.header('accept-encoding'))
  const { scheme, host } = client
  const origin = { scheme, host, address: tools.addressOf(request.listener) }
  const key = { prefix: l0KeyPrefix(origin, coding), target: l0KeyTarget(request.target, request) }
  if (!tools.cache.isWanted(key, tools.clock.monotonic())) return undefined
  return new AdmissionTicket(tools, { offering, offer, purgeables, coding, key })
}

/** An entry goes with a purge of the requested path, and of the path that it was rewritten to. */
function purgeablesOf({ request, client }: OfferingRequest, { label, path, tags }: L0Offer): Purgeable[] {
  const parsed = parseHost(client.host)
  const host = parsed === 'bad_host' ? '' : parsed.hostname
  const requested = { label, host, path: request.path, tags }
  return path === request.path ? [requested] : [requested, { ...requested, path }]
}

interface Admitted {
  readonly offering: OfferingRequest
  readonly offer: L0Offer
  readonly purgeables: readonly Purgeable[]
  readonly coding: ContentCoding
  readonly key: L0Key
}

/** Compression and slow clients come between offer and store: purges in that time count like those during a render. */
class AdmissionTicket {
  readonly #tools: L0Admission
  readonly #admitted: Admitted
  #fill: Fill | undefined
  #isFilling = false

  constructor(tools: L0Admission, admitted: Admitted) {
    this.#tools = tools
    this.#admitted = admitted
    this.#fill = tools.ledger.begin()
  }

  get maxBytes(): number {
    return this.#tools.cache.maxEntryBytes
  }

  /** Requests the response for L0 alone, since the client gets less of it. False: it is cached already, or in flight. */
  beginFill(): boolean {
    const { cache, clock, filling } = this.#tools
    const { prefix, target } = this.#admitted.key
    if (filling.has(prefix + target) || cache.find(prefix, target, clock.monotonic()) !== undefined) return false
    filling.add(prefix + target)
    this.#isFilling = true
    return true
  }

  store(head: ResponseHead, body: Uint8Array): void {
    const { cache } = this.#tools
    if (body.byteLength > cache.maxEntryBytes || !this.mayStore(head)) return
    const content = Buffer.allocUnsafeSlow(body.byteLength)
    content.set(body)
    cache.put(this.#admitted.key, { facts: this.#facts(head), head, body: content }, this.#tools.clock.monotonic())
  }

  end(): void {
    if (this.#fill !== undefined) this.#tools.ledger.end(this.#fill)
    this.#fill = undefined
    if (!this.#isFilling) return
    const { prefix, target } = this.#admitted.key
    this.#tools.filling.delete(prefix + target)
    this.#isFilling = false
  }

  /** True if a response with this head would be stored now. */
  mayStore(head: ResponseHead): boolean {
    const fill = this.#fill
    const { offering, offer, purgeables, coding } = this.#admitted
    if (fill === undefined || !this.#tools.isServed(offering.generation) || offer.expiresAt <= this.#tools.clock.now())
      return false
    const { dependsOnCookies } = offer
    if (!mayEnterL0(offering.request, coding, head, { dependsOnCookies, affinityCookie: offering.affinityCookie })) return false
    return purgeables.every((entry) => this.#tools.ledger.mayStore(fill, entry, 'l0'))
  }

  #facts({ headers }: ResponseHead): WorkerFacts {
    const { offering, offer, purgeables } = this.#admitted
    const { expiresAt, dependsOnCookies, isCurrent, keepsLifetime } = offer
    return {
      purgeables,
      // The wall clock may be set; the remaining freshness runs on the monotonic one.
      expiresAt: this.#tools.clock.monotonic() + (expiresAt - this.#tools.clock.now()),
      dependsOnCookies,
      isCurrent,
      keepsLifetime,
      site: offering.site,
      pathGroup: offering.pathGroup,
      accessLogs: offering.accessLogs,
      realIp: offering.realIp,
      hitLogs: offering.formattedLogs?.ofHits(headers),
      isOfSpelling: offering.isOfSpelling,
      hidesStatus: offering.hidesStatus,
      terms: offering.terms,
      get: this.#tools.metrics.series('GET', offering.pathGroup),
      head: this.#tools.metrics.series('HEAD', offering.pathGroup),
      traffic: this.#tools.traffic.of(offering.site),
    }
  }
}
