import type { Fill } from '@svc/cache'
import type { Keepable } from './keeper.ts'
import type { PageAsk } from './page-ask.ts'
import type { PageFill } from './page-fill.ts'

/** One request on its way through the cache; it may go round more than once. */
export interface Turn {
  readonly ask: PageAsk
  /** Until when it waits for others: milliseconds of the monotonic clock. */
  readonly deadlineMs: number
  /** Number of the last purge that was known when it came. */
  readonly seq: number
  /** How often it began anew. */
  readonly rounds: number
}

/** What a flight is told. */
export interface FlightOptions {
  readonly key: string
  /** Whether the key was asked for before, or is while the flight lasts. */
  readonly isRepeated: boolean
  /** A turn has waited as long as it may. */
  readonly onLate: (flight: Flight, turn: Turn) => void
}

/** All requests of this worker for one missing key, from the first of them until the entry is in the store. */
export class Flight {
  readonly key: string
  /** The answer, once it is made: until it is committed nobody finds it in the store. */
  answer: Keepable | undefined
  /** Begun with the render. */
  fill: Fill | undefined
  /** The render, once it has begun. */
  render: PageFill | undefined
  /** Whether one who waited in vain for another process renders for itself. */
  hasLateRender = false
  #isRepeated: boolean
  readonly #onLate: (flight: Flight, turn: Turn) => void
  /** Who waits, and the timer that ends it. */
  readonly #waiting = new Map<Turn, NodeJS.Timeout>()

  constructor(options: FlightOptions) {
    this.key = options.key
    this.#isRepeated = options.isRepeated
    this.#onLate = options.onLate
  }

  get isRepeated(): boolean {
    return this.#isRepeated
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Another request for the key has come. */
  noteRepeated(): void {
    this.#isRepeated = true
  }

  /** Lets a request wait. One whose client leaves is forgotten. */
  wait(turn: Turn, now: number): void {
    const late = () => {
      if (this.#leave(turn)) this.#onLate(this, turn)
    }
    this.#waiting.set(turn, setTimeout(late, Math.max(0, turn.deadlineMs - now)))
    turn.ask.context.onClosed(() => this.#leave(turn))
  }

  /** Takes the request that has waited longest, if any is left. */
  takeFirst(): Turn | undefined {
    const turn = this.#waiting.keys().next().value
    if (turn !== undefined) this.#leave(turn)
    return turn
  }

  /** Takes all requests that wait. */
  takeAll(): Turn[] {
    const turns = [...this.#waiting.keys()]
    for (const turn of turns) this.#leave(turn)
    return turns
  }

  #leave(turn: Turn): boolean {
    clearTimeout(this.#waiting.get(turn))
    return this.#waiting.delete(turn)
  }
}
