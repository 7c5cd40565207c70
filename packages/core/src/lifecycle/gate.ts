/** Lets so many tasks run at a time; the others wait for their turn, in the order they came in. */
export class Gate {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  /** Tasks that have not begun. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Settles as the task does. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    // A task that ends passes its slot on.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
