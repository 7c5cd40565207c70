import { join } from 'node:path'
import { type Clock, entryOf, Gate } from '@svc/core'
import type { AnalyticsReport, TrafficBatch, TrafficQuery } from '@svc/protocol'
import { type Logger, readTraffic, TopLists, TrafficTotals, type WrittenTraffic } from '@svc/telemetry'
import { LiveTraffic, MINUTE_MS, minuteOf, TOP_NAMES } from './live-traffic.ts'
import { type PlannedPart, planRange, type SummedUntil } from './query-plan.ts'
import { RecentReports } from './recent-reports.ts'
import { reportOf, windows } from './report.ts'
import { rollUp } from './roll-up.ts'
import { type FileKind, HOUR_MS, type MaxBytes, TrafficFiles } from './traffic-files.ts'

/** A minute is written so long after its end: the last reports of workers are on their way. */
const LATE_MS = 3_000
/** Interval of the warnings about one kind of loss. */
const WARN_MS = HOUR_MS

/** Dependencies of `Analytics`. */
interface AnalyticsOptions {
  readonly stateDir: string
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn'>
  /** Smaller bounds of the files. */
  readonly maxBytes?: MaxBytes
}

/** Sites and a range of time, which is cut to whole minutes. */
interface RangeQuery {
  /** Ids of sites; undefined: all that have data. */
  readonly sites?: readonly string[] | undefined
  readonly fromMs: number
  readonly toMs: number
}

/** Totals of all requested sites in one step of a range. */
interface TrafficStep {
  /** Its beginning. */
  readonly at: number
  readonly totals: TrafficTotals
}

/**
 * The traffic of sites: as workers report it, by minute for 7 days, by hour for 8, and by day (UTC) for 91. All but the current minute is in
 * files, so that a crash costs no more than that. Queries and writes use the files one after the other.
 */
export class Analytics {
  readonly #options: AnalyticsOptions
  readonly #files: TrafficFiles
  readonly #live: LiveTraffic
  readonly #turns = new Gate(1)
  readonly #reports: RecentReports<AnalyticsReport>
  #until: SummedUntil = { hours: 0, days: 0 }
  #cancel: () => void = () => undefined
  #isClosed = false
  #warnedAt = Number.NEGATIVE_INFINITY

  constructor(options: AnalyticsOptions) {
    const { stateDir, clock, logger, maxBytes } = options
    this.#options = options
    this.#reports = new RecentReports(clock)
    this.#files = new TrafficFiles({
      dir: join(stateDir, 'analytics'),
      now: () => clock.now(),
      warn: (err, text) => logger.warn({ err }, text),
      maxBytes,
    })
    this.#live = new LiveTraffic(
      () => clock.now(),
      () => this.#warnOfSites(),
    )
  }

  /** Finds earlier files, in the background, and begins to write minutes as they end. */
  start(): void {
    void this.#turns.run(async () => {
      await this.#files.open()
      await this.#keepUp(false)
    })
    this.#schedule()
  }

  /** Adds the report of a worker. @throws CORE_PROTOCOL */
  add(batch: TrafficBatch): void {
    this.#live.add(batch)
  }

  /** Totals of sites over a range of time. Sites without requests are not there. */
  totals({ sites, fromMs, toMs }: RangeQuery): Promise<ReadonlyMap<string, TrafficTotals>> {
    return this.#turns.run(async () => {
      const sums = new Map<string, TrafficTotals>()
      const plan = planRange(minuteOf(fromMs), minuteOf(toMs + MINUTE_MS - 1), this.#until)
      await this.#visitTotals(plan, sites, (_at, site, addTo) => addTo(entryOf(sums, site, () => new TrafficTotals())))
      return sums
    })
  }

  /** Totals of all sites together in steps of a range, which begins and ends with a step. */
  series(query: RangeQuery & { readonly stepMs: number }): Promise<TrafficStep[]> {
    return this.#turns.run(() => this.#series(query))
  }

  /** The answer to a query for a window of time up to now. */
  report({ sites, window }: TrafficQuery): Promise<AnalyticsReport> {
    const { stepMs, steps, topKind, keepMs } = windows[window]
    return this.#reports.get(`${window} ${sites?.join(' ') ?? '*'}`, keepMs, () =>
      this.#turns.run(async () => {
        const now = this.#options.clock.now()
        const toMs = now - (now % stepMs) + stepMs
        const query = { sites, fromMs: toMs - steps * stepMs, toMs }
        return reportOf(await this.#series({ ...query, stepMs }), stepMs, await this.#tops(query, topKind))
      }),
    )
  }

  /** Totals of the last full minute by site. */
  lastMinute(): ReadonlyMap<string, TrafficTotals> {
    return this.#live.lastMinute()
  }

  /** Requests of the last ten seconds by site. */
  lastSeconds(): ReadonlyMap<string, number> {
    return this.#live.lastSeconds()
  }

  /** The beginning of the oldest data; undefined: there are none. */
  since(): Promise<number | undefined> {
    return this.#turns.run(async () => {
      const times = (['minutes', 'hours', 'days'] as const).flatMap((kind) => this.#files.times(kind).slice(0, 1))
      return times.length === 0 ? undefined : Math.min(...times)
    })
  }

  /** Bytes of the files of each kind. */
  diskBytes(): number {
    return (['minutes', 'tops', 'hours', 'days'] as const).reduce((sum, kind) => sum + this.#files.bytes(kind), 0)
  }

  /** Writes the traffic counted so far. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cancel()
    await this.#turns.run(() => this.#keepUp(true))
  }

  #schedule(): void {
    const { clock } = this.#options
    const now = clock.now()
    this.#cancel = clock.after(minuteOf(now) + MINUTE_MS + LATE_MS - now, () => {
      if (this.#isClosed) return
      this.#schedule()
      void this.#turns.run(() => this.#keepUp(false))
    })
  }

  /** Writes minutes that have ended, and sums up. Never rejects. */
  async #keepUp(isAll: boolean): Promise<void> {
    const { clock } = this.#options
    for (const [at, traffic] of this.#live.take(isAll)) {
      await this.#files.append('minutes', at, traffic.payloads('totals'))
      await this.#files.append('tops', at, traffic.payloads('tops'))
    }
    this.#until = await rollUp(this.#files, clock.now())
    await this.#files.expire()
  }

  async #series({ sites, fromMs, toMs, stepMs }: RangeQuery & { readonly stepMs: number }): Promise<TrafficStep[]> {
    const count = Math.ceil((toMs - fromMs) / stepMs)
    const steps = Array.from({ length: count }, (_, i) => ({ at: fromMs + i * stepMs, totals: new TrafficTotals() }))
    const plan = planRange(fromMs, toMs, this.#until, stepMs % HOUR_MS === 0 ? 'hours' : 'minutes')
    await this.#visitTotals(plan, sites, (at, _site, addTo) => {
      const step = steps[Math.floor((at - fromMs) / stepMs)]
      if (step !== undefined) addTo(step.totals)
    })
    return steps
  }

  async #tops({ sites, fromMs, toMs }: RangeQuery, kind: 'tops' | 'hours'): Promise<TopLists> {
    const lists = new TopLists(TOP_NAMES.watched)
    const wanted = sites && new Set(sites)
    const hoursEnd = kind === 'hours' ? Math.max(fromMs, Math.min(this.#until.hours, toMs)) : fromMs
    const addTo = ({ tops }: WrittenTraffic) => lists.addEncoded(tops)
    await this.#readFiles('hours', { fromMs, toMs: hoursEnd, wanted }, addTo)
    await this.#readFiles('tops', { fromMs: hoursEnd, toMs, wanted }, addTo)
    for (const [, traffic] of this.#live.minutes(hoursEnd, toMs)) traffic.addTopsTo(lists, wanted)
    return lists
  }

  /** Shows the totals of sites: `addTo` adds them to others. */
  async #visitTotals(
    plan: readonly PlannedPart[],
    sites: readonly string[] | undefined,
    visit: (at: number, site: string, addTo: (sum: TrafficTotals) => void) => void,
  ): Promise<void> {
    const wanted = sites && new Set(sites)
    for (const { kind, fromMs, toMs } of plan) {
      await this.#readFiles(kind, { fromMs, toMs, wanted }, ({ site, totals }, at) => {
        if (!totals.isAtEnd) visit(at, site, (sum) => sum.addEncoded(totals))
      })
      if (kind !== 'minutes') continue
      for (const [at, traffic] of this.#live.minutes(fromMs, toMs))
        for (const [site, totals] of traffic.totals) if (wanted?.has(site) !== false) visit(at, site, (sum) => sum.add(totals))
    }
  }

  #readFiles(
    kind: FileKind,
    {
      fromMs,
      toMs,
      wanted,
    }: { readonly fromMs: number; readonly toMs: number; readonly wanted: ReadonlySet<string> | undefined },
    visit: (traffic: WrittenTraffic, at: number) => void,
  ): Promise<void> {
    return this.#files.read(kind, fromMs, toMs, (at, payload) =>
      readTraffic(payload, (traffic) => {
        if (wanted?.has(traffic.site) !== false) visit(traffic, at)
      }),
    )
  }

  #warnOfSites(): void {
    const { clock, logger } = this.#options
    if (clock.monotonic() - this.#warnedAt < WARN_MS) return
    this.#warnedAt = clock.monotonic()
    logger.warn('analytics leave out sites: more sites than are counted have requests in one minute')
  }
}
