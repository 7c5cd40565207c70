const steps = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const

/** "5 min ago", "in 3 d"; less than a second is "now". */
export function relativeTime(atMs: number, nowMs: number): string {
  const awayMs = Math.abs(nowMs - atMs)
  const step = steps.find(([size]) => awayMs >= size)
  if (step === undefined) return 'now'
  const text = `${Math.floor(awayMs / step[0])} ${step[1]}`
  return atMs > nowMs ? `in ${text}` : `${text} ago`
}

/** Date and time in the local zone, with the zone. */
export function absoluteTime(atMs: number): string {
  return new Date(atMs).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
}

const DAY_MS = 86_400_000

/** A time on the axis of a chart: hours and minutes, or the day where the chart spans several. */
export function axisTime(atMs: number, spanMs: number): string {
  const options = spanMs > 2 * DAY_MS ? ({ day: 'numeric', month: 'short' } as const) : ({ timeStyle: 'short' } as const)
  return new Date(atMs).toLocaleString('en-GB', options)
}
