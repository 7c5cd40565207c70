/** This many losses of a site's isolates within the window count as a crash loop. */
const LOOP_COUNT = 5
const WINDOW_MS = 60_000

/** Counts recent losses of isolates by site. */
export class IsolateLosses {
  readonly #lostAt = new Map<string, number[]>()

  /** Notes a loss at `now`, milliseconds of a monotonic clock. */
  note(site: string, now: number): void {
    const recent = (this.#lostAt.get(site) ?? []).filter((at) => now - at < WINDOW_MS)
    this.#lostAt.set(site, [...recent, now].slice(-LOOP_COUNT))
  }

  /** Sites whose isolates are in a crash loop. */
  looping(now: number): string[] {
    for (const [site, times] of this.#lostAt) {
      if (now - (times.at(-1) ?? 0) >= WINDOW_MS) this.#lostAt.delete(site)
    }
    return [...this.#lostAt].flatMap(([site, times]) =>
      times.length >= LOOP_COUNT && now - (times[0] ?? 0) < WINDOW_MS ? [site] : [],
    )
  }
}
