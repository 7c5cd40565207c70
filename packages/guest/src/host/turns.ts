import { keepContext } from '../context/context.ts'

/** A place among those who may run, or in the queue for one. */
export interface Turn {
  /** Gives the place up, whether it has come to it or not. Idempotent. */
  end(): void
}

/**
 * Lets so many at a time ask something of the host. The others wait in here, since every call costs the host an entry of its
 * own into the isolate, and what must come through at once, as the end of a request, stands behind all of them.
 */
export class Turns {
  readonly #maxRunning: number
  readonly #waiting = new Map<number, () => void>()
  #running = 0
  #lastId = 0

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning
  }

  /** Calls `start` when it is its turn, now or later, in the context of now. */
  take(start: () => void): Turn {
    const id = ++this.#lastId
    let isOver = false
    if (this.#running < this.#maxRunning) {
      this.#running++
      start()
    } else this.#waiting.set(id, keepContext(start))
    return {
      end: () => {
        if (isOver) return
        isOver = true
        if (!this.#waiting.delete(id)) this.#next()
      },
    }
  }

  #next(): void {
    this.#running--
    for (const [id, start] of this.#waiting) {
      this.#waiting.delete(id)
      this.#running++
      start()
      return
    }
  }
}
