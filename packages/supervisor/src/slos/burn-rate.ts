/** Requests of some time. */
export interface Counts {
  readonly total: number
  readonly good: number
}

/** A span of time that burn rates are computed over. */
interface Window {
  readonly name: string
  readonly ms: number
}

const MINUTE_MS = 60_000
const minutes = (count: number): Window => ({ name: `${count}m`, ms: count * MINUTE_MS })
const hours = (count: number): Window => ({ name: `${count}h`, ms: count * 60 * MINUTE_MS })
const days = (count: number): Window => ({ name: `${count}d`, ms: count * 1440 * MINUTE_MS })

/** The shortest window. */
export const recent = minutes(5)

/**
 * Windows and the burn rates from which on an objective is in danger: "Alerting on SLOs" in the Site Reliability Workbook. The short
 * window ends the alert soon after its cause.
 */
export const burnWindows = [
  { long: hours(1), short: recent, threshold: 14.4 },
  { long: hours(6), short: minutes(30), threshold: 6 },
  { long: days(1), short: hours(2), threshold: 3 },
  { long: days(3), short: hours(6), threshold: 1 },
] as const

/** Fewer bad requests in the long window are no trend: on a quiet site one of them could be a rate of a hundred. */
const MIN_BAD = 5

/** Returns the speed at which the error budget is used: 1 uses it up exactly by the end of its window. */
export function burnRate({ total, good }: Counts, objective: number): number {
  return total === 0 ? 0 : (total - good) / total / (1 - objective)
}

/** Returns the share of the error budget that is left: below 0 it is overdrawn. */
export function budgetLeft(counts: Counts, objective: number): number {
  return 1 - burnRate(counts, objective)
}

/** Returns true if the budget is used too fast in both windows. */
export function isBurning(long: Counts, short: Counts, objective: number, threshold: number): boolean {
  const isTrend = long.total - long.good >= MIN_BAD
  return isTrend && burnRate(long, objective) > threshold && burnRate(short, objective) > threshold
}
