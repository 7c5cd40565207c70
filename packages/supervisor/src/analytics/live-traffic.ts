import { entryOf } from '@svc/core'
import type { TrafficBatch } from '@svc/protocol'
import { readTraffic, type SiteTraffic, TopLists, TrafficTotals, TrafficWriter } from '@svc/telemetry'

export const MINUTE_MS = 60_000
/** Workers report this often, at these times of the wall clock. */
const REPORT_MS = 5_000
/** Reports are not older. */
const MAX_DELAY_MS = 2 * MINUTE_MS
/** Sites that are counted in one minute. */
const MAX_SITES = 10_000
/** Names that a list watches, and writes. */
export const TOP_NAMES = { watched: 64, written: 20 } as const
/** Bytes of one block of a file. */
const BLOCK_BYTES = 256 * 1024

/** The traffic of sites in some time, in memory. */
export class TrafficBySite {
  readonly #sites = new Map<string, Required<SiteTraffic> & { readonly totals: TrafficTotals; readonly tops: TopLists }>()
  readonly #maxSites: number

  constructor(maxSites = Number.POSITIVE_INFINITY) {
    this.#maxSites = maxSites
  }

  /** A site's traffic; undefined: there are too many sites. */
  of(site: string): { readonly totals: TrafficTotals; readonly tops: TopLists } | undefined {
    if (this.#sites.size >= this.#maxSites && !this.#sites.has(site)) return undefined
    return entryOf(this.#sites, site, () => ({ site, totals: new TrafficTotals(), tops: new TopLists(TOP_NAMES.watched) }))
  }

  get totals(): ReadonlyMap<string, TrafficTotals> {
    return new Map(Array.from(this.#sites, ([site, { totals }]) => [site, totals]))
  }

  /** Adds the top names of sites to others. */
  addTopsTo(lists: TopLists, wanted: ReadonlySet<string> | undefined): void {
    for (const { site, tops } of this.#sites.values()) if (wanted?.has(site) !== false) lists.add(tops)
  }

  /** The traffic as payloads of blocks. */
  payloads(parts: 'totals' | 'tops' | 'both'): Buffer[] {
    const writer = new TrafficWriter(TOP_NAMES.written)
    const payloads: Buffer[] = []
    for (const { site, totals, tops } of this.#sites.values()) {
      writer.add({ site, totals: parts === 'tops' ? undefined : totals, tops: parts === 'totals' ? undefined : tops })
      if (writer.length >= BLOCK_BYTES) payloads.push(writer.take())
    }
    if (writer.length > 0) payloads.push(writer.take())
    return payloads
  }
}

/** The traffic of minutes that are not in a file yet, as workers report it. */
export class LiveTraffic {
  readonly #now: () => number
  readonly #onDropped: () => void
  readonly #minutes = new Map<number, TrafficBySite>()
  /** The minute that was taken last. */
  #taken: { readonly at: number; readonly traffic: TrafficBySite } | undefined
  /** Requests by site in the last intervals of reports, by the beginning of the interval. */
  readonly #recent = new Map<number, Map<string, number>>()

  /** @param onDropped called when traffic is not counted, because too many sites have some */
  constructor(now: () => number, onDropped: () => void) {
    this.#now = now
    this.#onDropped = onDropped
  }

  /** Adds the report of a worker. @throws CORE_PROTOCOL */
  add({ at, bytes }: TrafficBatch): void {
    const now = this.#now()
    const time = at <= now && at > now - MAX_DELAY_MS ? at : now
    const minute = entryOf(this.#minutes, minuteOf(time), () => new TrafficBySite(MAX_SITES))
    const recent = entryOf(this.#recent, time - (time % REPORT_MS), () => new Map<string, number>())
    for (const slot of this.#recent.keys()) if (slot < now - 4 * REPORT_MS) this.#recent.delete(slot)
    readTraffic(bytes, ({ site, totals, tops }) => {
      const traffic = minute.of(site)
      if (traffic === undefined) {
        this.#onDropped()
        return
      }
      const before = traffic.totals.requests
      traffic.totals.addEncoded(totals)
      traffic.tops.addEncoded(tops)
      recent.set(site, (recent.get(site) ?? 0) + traffic.totals.requests - before)
    })
  }

  /** The minutes of a range. */
  minutes(fromMs: number, toMs: number): (readonly [at: number, traffic: TrafficBySite])[] {
    return [...this.#minutes].filter(([at]) => at >= fromMs && at < toMs)
  }

  /** Removes the minutes that have ended, or all. */
  take(isAll: boolean): (readonly [at: number, traffic: TrafficBySite])[] {
    const ended = [...this.#minutes].filter(([at]) => isAll || at < minuteOf(this.#now()))
    for (const [at, traffic] of ended) {
      this.#minutes.delete(at)
      if (this.#taken === undefined || at > this.#taken.at) this.#taken = { at, traffic }
    }
    return ended
  }

  /** Totals of the last full minute by site. */
  lastMinute(): ReadonlyMap<string, TrafficTotals> {
    const at = minuteOf(this.#now()) - MINUTE_MS
    const traffic = this.#minutes.get(at) ?? (this.#taken?.at === at ? this.#taken.traffic : undefined)
    return traffic?.totals ?? new Map()
  }

  /** Requests by site in the last ten seconds that workers have reported. */
  lastSeconds(): ReadonlyMap<string, number> {
    const end = this.#now() - (this.#now() % REPORT_MS)
    const sums = new Map<string, number>()
    for (const [slot, requests] of this.#recent) {
      if (slot < end - 2 * REPORT_MS || slot >= end) continue
      for (const [site, count] of requests) sums.set(site, (sums.get(site) ?? 0) + count)
    }
    return sums
  }
}

export function minuteOf(time: number): number {
  return time - (time % MINUTE_MS)
}
