/** Keys whose uses are counted; past them the one that was counted first is forgotten. */
const MAX_KEYS = 10_000

/** Counts how often responses were requested that are not stored yet. */
export class UseCounts {
  readonly #counts = new Map<string, number>()

  /** Counts one use of a key. @returns how many there were, with this one */
  add(key: string): number {
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    const oldest = this.#counts.size > MAX_KEYS ? this.#counts.keys().next().value : undefined
    if (oldest !== undefined) this.#counts.delete(oldest)
    return count
  }
}
