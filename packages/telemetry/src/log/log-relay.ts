import { type Clock, systemClock } from '@svc/core'
import type { LogLine } from './logger.ts'

/** Log lines of a process, in order. */
interface LogBatch {
  readonly lines: LogLine[]
  /** Number of lines that were dropped since the batch before. */
  readonly dropped: number
}

/** A batch waits for its predecessor, and for this: with the bounds of a batch it limits the rate of a process. */
const PAUSE_MS = 100
const MAX_LINES = 200
const MAX_CHARS = 128 * 1024

/**
 * Sends the log lines of a process to another, a batch at a time. It never holds more than a batch: lines that come faster than the
 * receiver takes them are dropped here, and counted.
 */
export class LogRelay {
  readonly #clock: Clock
  #lines: LogLine[] = []
  #chars = 0
  #dropped = 0
  #send: ((batch: LogBatch) => Promise<unknown>) | undefined
  #isBusy = false

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Queues a line. */
  readonly take = (line: LogLine): void => {
    if (this.#lines.length >= MAX_LINES || this.#chars + line.text.length > MAX_CHARS) this.#dropped++
    else {
      this.#lines.push(line)
      this.#chars += line.text.length
    }
    this.#schedule()
  }

  /** Begins to send, the queued lines first. Lines of a batch that `send` rejects count as dropped. */
  connect(send: (batch: LogBatch) => Promise<unknown>): void {
    this.#send = send
    if (this.#lines.length > 0) this.#schedule()
  }

  #schedule(): void {
    const send = this.#send
    if (this.#isBusy || send === undefined) return
    this.#isBusy = true
    this.#clock.after(PAUSE_MS, () => void this.#flush(send))
  }

  async #flush(send: (batch: LogBatch) => Promise<unknown>): Promise<void> {
    const batch = { lines: this.#lines, dropped: this.#dropped }
    this.#lines = []
    this.#chars = 0
    this.#dropped = 0
    try {
      await send(batch)
    } catch {
      // The receiver is gone or hangs; the log itself has the lines.
      this.#dropped += batch.dropped + batch.lines.length
    }
    this.#isBusy = false
    if (this.#lines.length > 0) this.#schedule()
  }
}
