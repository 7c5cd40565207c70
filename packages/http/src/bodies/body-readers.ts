import type { Clock } from '@svc/core'

export interface ReaderEvents {
  /** There may be more, after `later`. */
  ready(): void
  /** It gets no more. */
  cut?(error: Error): void
}

/** A reader of a body, at its own speed. */
interface BodyReader {
  /** How many bytes of the body it has taken or skipped. */
  readonly position: number
  readonly events: ReaderEvents
}

/** A body that arrives. */
interface ArrivingBody {
  /** How many bytes have come. */
  readonly bytes: number
  /** True if more may come. */
  readonly isOpen: boolean
}

/** How long a reader may take nothing while others wait for more. */
export interface ReaderLag {
  readonly clock: Pick<Clock, 'after'>
  readonly limitMs: number
  readonly error: () => Error
}

/** The readers of one body: how far they are, and an end for those that hold up others. */
export class BodyReaders<Reader extends BodyReader> {
  readonly #body: ArrivingBody
  readonly #lag: ReaderLag | undefined
  readonly #all = new Set<Reader>()
  #cancelWatch: (() => void) | undefined

  constructor(body: ArrivingBody, lag: ReaderLag | undefined) {
    this.#body = body
    this.#lag = lag
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  /** Position of the slowest; infinite without readers. */
  get leastPosition(): number {
    let least = Number.POSITIVE_INFINITY
    for (const { position } of this.#all) least = Math.min(least, position)
    return least
  }

  add(reader: Reader): void {
    this.#all.add(reader)
  }

  delete(reader: Reader): void {
    this.#all.delete(reader)
  }

  wake(): void {
    for (const { events } of [...this.#all]) events.ready()
  }

  /** Cuts the readers that take nothing from now on for as long as the limit, if others wait for more; then calls `done`. */
  watch(done: () => void): void {
    const lag = this.#lag
    if (lag === undefined || this.#cancelWatch !== undefined || !this.#isHeldUp) return
    const lagging = this.#lagging.map((reader) => [reader, reader.position] as const)
    this.#cancelWatch = lag.clock.after(lag.limitMs, () => {
      this.#cancelWatch = undefined
      const stuck = this.#isHeldUp ? lagging.filter(([reader, position]) => reader.position === position) : []
      for (const [reader] of stuck) reader.events.cut?.(lag.error())
      done()
    })
  }

  stopWatch(): void {
    this.#cancelWatch?.()
  }

  /** Those that have not taken all that came. */
  get #lagging(): readonly Reader[] {
    return [...this.#all].filter(({ position }) => position < this.#body.bytes)
  }

  /** True if some have all that came, and more would come but for others. */
  get #isHeldUp(): boolean {
    return this.#body.isOpen && this.#lagging.length < this.#all.size
  }
}
