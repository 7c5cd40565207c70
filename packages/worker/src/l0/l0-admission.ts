import {
  type Fill,
  isCredentialFree,
  type L0Cache,
  type L0Key,
  type L0Offer,
  l0KeyPrefix,
  l0KeyTarget,
  mayEnterL0,
  type Purgeable,
  type PurgeLedger,
  storablePath,
} from '@svc/cache'
import type { Clock } from '@svc/core'
import type { ReadyHead } from '@svc/engine'
import { type ContentCoding, encodingClass, parseHost, type ResponseHead } from '@svc/http'
import type { HttpMetrics } from '@svc/telemetry'
import type { L0Ticket, OfferingRequest } from '../request/l0-fill.ts'
import type { WorkerFacts } from './drop-outdated.ts'

/** Dependencies of admission. */
export interface AdmissionTools {
  readonly cache: L0Cache<ReadyHead, WorkerFacts>
  readonly ledger: PurgeLedger
  readonly metrics: HttpMetrics
  readonly clock: Clock
  /** Names of the keys whose responses are being made for L0 alone. */
  readonly filling: Set<string>
  /** Key part of the listen address; undefined if all addresses serve the same. */
  addressOf(listener: string): string | undefined
  /** True if the cache is still in use, and this generation the one that is served. */
  isServed(generation: number): boolean
}

/** Opens a ticket for a response that L0 admits: offered for the second time, to a client without credentials, and not purged. */
export function admit(tools: AdmissionTools, offering: OfferingRequest, offer: L0Offer): L0Ticket | undefined {
  const { request, client } = offering
  if (!isRead(request.method) || storablePath(request.path) === undefined || storablePath(offer.path) === undefined)
    return undefined
  if (!isCredentialFree(request, offer.dependsOnCookies) || !tools.isServed(offering.generation)) return undefined
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

/** HEAD gets the same response as GET, without the body. */
function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** An entry goes with a purge of the requested path, and of the path that it was rewritten to. */
function purgeablesOf({ request, client }: OfferingRequest, { label, path, tags }: L0Offer): Purgeable[] {
  const parsed = parseHost(client.host)
  const host = parsed === 'bad_host' ? '' : parsed.hostname
  const asked = { label, host, path: request.path, tags }
  return path === request.path ? [asked] : [asked, { ...asked, path }]
}

interface Admitted {
  readonly offering: OfferingRequest
  readonly offer: L0Offer
  readonly purgeables: readonly Purgeable[]
  readonly coding: ContentCoding
  readonly key: L0Key
}

/** Compression and slow clients come between offer and store: purges in that time count like those during a render. */
class AdmissionTicket implements L0Ticket {
  readonly #tools: AdmissionTools
  readonly #admitted: Admitted
  #fill: Fill | undefined
  #isFilling = false

  constructor(tools: AdmissionTools, admitted: Admitted) {
    this.#tools = tools
    this.#admitted = admitted
    this.#fill = tools.ledger.begin()
  }

  get maxBytes(): number {
    return this.#tools.cache.maxEntryBytes
  }

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
    cache.put(this.#admitted.key, { facts: this.#facts(), head, body: content }, this.#tools.clock.monotonic())
  }

  end(): void {
    if (this.#fill !== undefined) this.#tools.ledger.end(this.#fill)
    this.#fill = undefined
    if (!this.#isFilling) return
    const { prefix, target } = this.#admitted.key
    this.#tools.filling.delete(prefix + target)
    this.#isFilling = false
  }

  mayStore(head: ResponseHead): boolean {
    const fill = this.#fill
    const { offering, offer, purgeables, coding } = this.#admitted
    if (fill === undefined || !this.#tools.isServed(offering.generation) || offer.expiresAt <= this.#tools.clock.now())
      return false
    if (!mayEnterL0(offering.request, coding, head, offer.dependsOnCookies)) return false
    return purgeables.every((entry) => this.#tools.ledger.mayStore(fill, entry, 'l0'))
  }

  #facts(): WorkerFacts {
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
      isAccessLogged: offering.isAccessLogged,
      isOfSpelling: offering.isOfSpelling,
      get: this.#tools.metrics.series('GET', offering.pathGroup),
      head: this.#tools.metrics.series('HEAD', offering.pathGroup),
    }
  }
}
