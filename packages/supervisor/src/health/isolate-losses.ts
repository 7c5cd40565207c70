/** This many isolates of a site lost within the window are a loop. */
const LOOP_COUNT = 5
const WINDOW_MS = 60_000

/** Remembers which sites lost isolates lately. */
export class IsolateLosses {
  readonly #lostAt = new Map<string, number[]>()

  /** Notes a loss at `now`, milliseconds of a monotonic clock. */
  note(site: string, now: number): void {
    const recent = (this.#lostAt.get(site) ?? []).filter((at) => now - at < WINDOW_MS)
    this.#lostAt.set(site, [...recent, now].slice(-LOOP_COUNT))
  }

  /** Sites whose isolates die in a loop. */
  looping(now: number): string[] {
    for (const [site, times] of this.#lostAt) {
      if (now - (times.at(-1) ?? 0) >= WINDOW_MS) this.#lostAt.delete(site)
    }
    return [...this.#lostAt].flatMap(([site, times]) =>
      times.length >= LOOP_COUNT && now - (times[0] ?? 0) < WINDOW_MS ? [site] : [],
    )
  }
}
