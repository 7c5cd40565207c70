/** A site that holds its process for all the time it may must not hold up all others. */
const MAX_RUNNING = 4
/** Sites that have used much time lately share so many of the places. The others are for sites whose scans take milliseconds. */
const MAX_SLOW = 2
/** Time in processes from which a site counts as slow. Half of it is forgotten after each half-life. */
const SLOW_FROM_MS = 5_000
const HALF_LIFE_MS = 60_000

interface Turn {
  readonly root: string
  /** Begins the turn. */
  readonly begin: (isSlow: boolean) => void
}

/** Decides which scan or compilation runs next: the oldest one, but those of slow sites in some of the places only. */
export class ScanTurns {
  readonly #now: () => number
  readonly #waiting: Turn[] = []
  /** By the directory of the site. */
  readonly #spent = new Map<string, { readonly ms: number; readonly at: number }>()
  #running = 0
  #slow = 0

  /** @param now monotonic milliseconds */
  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Settles as the task does. A caller should not let more than a few tasks of a site wait. */
  async run<T>(root: string, task: () => Promise<T>): Promise<T> {
    const isSlow = await new Promise<boolean>((begin) => {
      this.#waiting.push({ root, begin })
      this.#next()
    })
    const startedAt = this.#now()
    try {
      return await task()
    } finally {
      const at = this.#now()
      this.#spent.set(root, { ms: this.#spentBy(root) + at - startedAt, at })
      this.#running--
      if (isSlow) this.#slow--
      this.#next()
    }
  }

  #next(): void {
    while (this.#running < MAX_RUNNING) {
      const at = this.#waiting.findIndex(({ root }) => this.#slow < MAX_SLOW || !this.#isSlow(root))
      const [turn] = at < 0 ? [] : this.#waiting.splice(at, 1)
      if (turn === undefined) return
      const isSlow = this.#isSlow(turn.root)
      this.#running++
      if (isSlow) this.#slow++
      turn.begin(isSlow)
    }
  }

  #isSlow(root: string): boolean {
    return this.#spentBy(root) >= SLOW_FROM_MS
  }

  #spentBy(root: string): number {
    const spent = this.#spent.get(root)
    return spent === undefined ? 0 : spent.ms * 0.5 ** ((this.#now() - spent.at) / HALF_LIFE_MS)
  }
}
