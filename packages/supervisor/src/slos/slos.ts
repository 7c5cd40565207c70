import type { Config } from '@svc/config'
import type { Clock } from '@svc/core'
import type { SloReport, SloStatus } from '@svc/protocol'
import type { TrafficTotals } from '@svc/telemetry'
import { Look } from '../alerts/look.ts'
import { budgetLeft, burnRate, burnWindows, type Counts, isBurning, recent } from './burn-rate.ts'

type Slo = Config['obs']['slos'][number]

/** Requests by site. */
type Traffic = ReadonlyMap<string, TrafficTotals>

/** The store of past requests. Neither call rejects. */
interface TrafficStore {
  totals(query: {
    readonly sites?: readonly string[] | undefined
    readonly fromMs: number
    readonly toMs: number
  }): Promise<Traffic>
  /** Beginning of the oldest requests; undefined: there are none. */
  since(): Promise<number | undefined>
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Up to this span of time is read once a minute, longer ones less often. */
const SHORT_MS = 120 * MINUTE_MS
/** Of older days the store has whole ones (UTC) alone. */
const EXACT_MS = 7 * DAY_MS
/** Less than the worker waits that asks. */
const REPORT_TIMEOUT_MS = 3_000
const LONG_PAUSE_MS = 5 * MINUTE_MS

/** The requests that a status is computed from, by length of the time up to now. */
interface Looks {
  readonly slos: readonly Slo[]
  readonly windows: ReadonlyMap<number, Look<Traffic>>
}

interface SlosOptions {
  readonly slos: () => readonly Slo[]
  readonly store: () => TrafficStore
  readonly clock: Clock
}

function spansOf(slos: readonly Slo[]): number[] {
  if (slos.length === 0) return []
  const windows = burnWindows.flatMap(({ long, short }) => [long.ms, short.ms])
  return [...new Set([...windows, ...slos.map(({ window_days: days }) => days * DAY_MS)])]
}

/** Counts the requests of an objective. Responses that clients make long have no latency. */
function countsOf({ site, kind, threshold_ms: thresholdMs }: Slo, traffic: Traffic): Counts {
  const own = site === undefined ? [...traffic.values()] : [traffic.get(site) ?? []].flat()
  let total = 0
  let good = 0
  for (const totals of own) {
    const isLatency = kind === 'latency'
    total += isLatency ? totals.latency.count : totals.requests
    good += isLatency ? totals.latency.countUpTo(thresholdMs ?? 0) : totals.requests - totals.status(5)
  }
  return { total, good }
}

/** Beginning of the requests that a window of days counts. */
function startOf(days: number, now: number): number {
  const start = now - days * DAY_MS
  return days * DAY_MS > EXACT_MS ? Math.ceil(start / DAY_MS) * DAY_MS : start
}

/** The service level objectives of the configuration: counts their requests from time to time. */
export class Slos {
  readonly #options: SlosOptions
  readonly #recent: Look<Traffic>
  readonly #since: Look<number | undefined>
  #looks: Looks = { slos: [], windows: new Map() }

  constructor(options: SlosOptions) {
    this.#options = options
    const { store, clock } = options
    this.#recent = this.#lookAt(recent.ms, undefined)
    this.#since = new Look({ look: () => store().since(), everyMs: LONG_PAUSE_MS, maxAgeMs: Number.POSITIVE_INFINITY, clock })
  }

  /** Reads the requests that are due. Resolves when they are read, or after `timeoutMs`. Never rejects. */
  async refresh(timeoutMs: number): Promise<void> {
    const slos = this.#options.slos()
    if (slos !== this.#looks.slos) this.#looks = this.#makeLooks(slos)
    const { windows } = this.#looks
    const looks = [this.#recent, ...windows.values(), ...(slos.length === 0 ? [] : [this.#since])]
    await Promise.all(looks.map((look) => look.refresh(timeoutMs)))
  }

  /** Requests of the last five minutes by site; undefined: they are unknown. */
  get recentTraffic(): Traffic | undefined {
    return this.#recent.value
  }

  /** The objectives, recounted where that is due. */
  async report(): Promise<SloReport> {
    await this.refresh(REPORT_TIMEOUT_MS)
    return { slos: this.statuses() }
  }

  /** The objectives as of the last refresh. */
  statuses(): SloStatus[] {
    return this.#looks.slos.map((slo) => this.#statusOf(slo))
  }

  /** The filter keeps queries small; one objective without a site needs all. */
  #makeLooks(slos: readonly Slo[]): Looks {
    const sites = slos.flatMap(({ site }) => site ?? [])
    const filter = sites.length < slos.length ? undefined : [...new Set(sites)]
    const spans = spansOf(slos).filter((ms) => ms !== recent.ms)
    return { slos, windows: new Map([[recent.ms, this.#recent], ...spans.map((ms) => [ms, this.#lookAt(ms, filter)] as const)]) }
  }

  #lookAt(spanMs: number, sites: readonly string[] | undefined): Look<Traffic> {
    const { store, clock } = this.#options
    const everyMs = spanMs <= SHORT_MS ? MINUTE_MS : LONG_PAUSE_MS
    const look = () => store().totals({ sites, fromMs: clock.now() - spanMs, toMs: clock.now() })
    return new Look({ look, everyMs, maxAgeMs: 3 * everyMs, clock })
  }

  #countsOf(slo: Slo, spanMs: number): Counts | undefined {
    const traffic = this.#looks.windows.get(spanMs)?.value
    return traffic === undefined ? undefined : countsOf(slo, traffic)
  }

  #statusOf(slo: Slo): SloStatus {
    const { name, site = null, kind, objective, threshold_ms: thresholdMs = null, window_days: windowDays } = slo
    const facts = { name, site, kind, objective, threshold_ms: thresholdMs, window_days: windowDays }
    const counts = this.#countsOf(slo, windowDays * DAY_MS)
    const since = this.#since.value
    const countedSince = since === undefined ? null : Math.max(since, startOf(windowDays, this.#options.clock.now()))
    return {
      ...facts,
      total: counts?.total ?? null,
      good: counts?.good ?? null,
      ratio: counts === undefined || counts.total === 0 ? null : counts.good / counts.total,
      budget_left: counts === undefined ? null : budgetLeft(counts, objective),
      counted_since: countedSince === null ? null : new Date(countedSince).toISOString(),
      burn_rates: burnWindows.flatMap(({ long, short, threshold }) => {
        const [ofLong, ofShort] = [this.#countsOf(slo, long.ms), this.#countsOf(slo, short.ms)]
        if (ofLong === undefined || ofShort === undefined) return []
        return {
          long_window: long.name,
          long_rate: burnRate(ofLong, objective),
          short_window: short.name,
          short_rate: burnRate(ofShort, objective),
          threshold,
          is_burning: isBurning(ofLong, ofShort, objective, threshold),
        }
      }),
    }
  }
}
