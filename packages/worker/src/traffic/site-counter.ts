import { type HitLayer, TopLists, TrafficTotals } from '@svc/telemetry'

/** Names that each list of a site watches between two reports. */
const WATCHED_NAMES = 64
/** Requests of each report whose names are all counted. */
const ALL_COUNTED = 64
/** Of further requests, one of so many on average. */
const SAMPLE_OF = 16
/** Longer referrers are cut before they are parsed. */
const MAX_REFERRER_CHARS = 512

/** A request by the names that lists have. */
interface NamedRequest {
  /** Normalised, without a query. */
  readonly path: string
  /** The Referer field. */
  readonly referrer: string | undefined
  /** Scheme and host that the client named. */
  readonly origin: string
  /** Address of the client. */
  readonly client: string
}

/** Counts the requests of a site between two reports. */
export class SiteCounter {
  readonly site: string
  readonly totals = new TrafficTotals()
  readonly tops = new TopLists(WATCHED_NAMES)
  readonly #onFirst: (counter: SiteCounter) => void
  #allCounted = ALL_COUNTED
  /** Requests that the next sample stands for, and how many of them are still to come. */
  #weight = 1
  #remaining = 1

  /** @param onFirst called for the first request of a report */
  constructor(site: string, onFirst: (counter: SiteCounter) => void) {
    this.site = site
    this.#onFirst = onFirst
  }

  /**
   * Counts a request.
   * @param bin of its latency, of which the caller may know the last one still; undefined: its client decided how long it took
   */
  record(status: number, bytes: number, bin: number | undefined): void {
    if (this.totals.requests === 0) this.#onFirst(this)
    this.totals.record(status, bytes)
    if (bin !== undefined) this.totals.latency.record(bin)
  }

  recordHit(layer: HitLayer): void {
    this.totals.recordHit(layer)
  }

  /** To be called for each request. Returns the number of requests for which the names of this one count; 0: they do not. */
  takeWeight(): number {
    if (--this.#remaining > 0) return 0
    const weight = this.#weight
    // By chance, because pages request their parts in a fixed order.
    this.#weight = --this.#allCounted > 0 ? 1 : 1 + Math.floor(Math.random() * (2 * SAMPLE_OF - 1))
    this.#remaining = this.#weight
    return weight
  }

  /** Counts the names of a request. */
  recordNames({ path, referrer, origin, client }: NamedRequest, weight: number): void {
    this.tops.paths.add(path, weight)
    if (client !== '') this.tops.clients.add(client, weight)
    const from = referrer === undefined ? undefined : originOf(referrer)
    if (from !== undefined && from !== origin) this.tops.referrers.add(from, weight)
  }

  clear(): void {
    this.totals.clear()
    this.tops.clear()
    this.#allCounted = ALL_COUNTED
    this.#weight = 1
    this.#remaining = 1
  }
}

function originOf(referrer: string): string | undefined {
  const url = URL.parse(referrer.slice(0, MAX_REFERRER_CHARS))
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.origin : undefined
}
