/** Some measurements of the same thing, in milliseconds. */
export interface Timing {
  readonly leastMs: number
  readonly medianMs: number
  /** The slowest of a hundred; of fewer measurements, the slowest. */
  readonly p99Ms: number
}

/** Returns the value that this share of all values (0 to 1) does not exceed. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** Sums up measurements in milliseconds. */
export function timingOf(measurements: readonly number[]): Timing {
  const sorted = measurements.toSorted((a, b) => a - b)
  return { leastMs: quantile(sorted, 0), medianMs: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) }
}

/** Measures a task repeatedly; `between` runs after each round, unmeasured. */
export async function timed(
  rounds: number,
  task: (round: number) => Promise<unknown>,
  between?: (round: number) => Promise<unknown>,
): Promise<Timing> {
  const measurements: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now()
    await task(round)
    measurements.push(performance.now() - startedAt)
    await between?.(round)
  }
  return timingOf(measurements)
}
