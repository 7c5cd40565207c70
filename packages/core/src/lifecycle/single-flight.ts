/** Lets concurrent callers with one key share one run of a task. Results are not kept once settled. */
export class SingleFlight<Key, T> {
  readonly #running = new Map<Key, Promise<T>>()

  /** Runs `task`, or joins the run in flight for `key`. */
  run(key: Key, task: () => Promise<T>): Promise<T> {
    const current = this.#running.get(key)
    if (current !== undefined) return current
    const started = task().finally(() => this.#running.delete(key))
    this.#running.set(key, started)
    return started
  }

  get size(): number {
    return this.#running.size
  }
}
