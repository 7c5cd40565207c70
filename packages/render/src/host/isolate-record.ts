import { withDeadline } from '@svc/core'
import type { HostIsolate } from '@svc/protocol'

/** How long a list of isolates waits for one whose code runs. */
const MEASURE_TIMEOUT_MS = 500

/** State of a thread's isolate, as its render host knows it. */
export class IsolateRecord {
  readonly #thread: number
  /** Time from the beginning of its creation until it was ready, in milliseconds; 0: not known. */
  buildMs = 0
  /** Requests that came to it. */
  requests = 0
  #startedAt: number | undefined
  #heapBytes: number | undefined
  /** The question that the thread has not answered yet: there is one at most, however many ask. */
  #asked: PromiseWithResolvers<void> | undefined

  constructor(thread: number) {
    this.#thread = thread
  }

  /** It is ready. */
  built(buildMs: number): void {
    this.buildMs = buildMs
    this.#startedAt = Date.now()
  }

  /** It ended; the next request gets another one in the same thread. */
  lost(): void {
    this.#startedAt = undefined
    this.requests = 0
  }

  measured(heapBytes: number | undefined): void {
    this.#heapBytes = heapBytes
    this.#asked?.resolve()
    this.#asked = undefined
  }

  /** Sends the question for its memory, unless one is open. Resolves when it is answered, or after a time. */
  async measure(ask: () => void): Promise<void> {
    if (this.#asked === undefined) {
      this.#asked = Promise.withResolvers()
      ask()
    }
    try {
      await withDeadline(this.#asked.promise, MEASURE_TIMEOUT_MS, 'size of an isolate')
    } catch {
      // Only the deadline rejects.
      this.#heapBytes = undefined
    }
  }

  facts(isBusy: boolean, isEnding: boolean): Omit<HostIsolate, 'site'> {
    const { buildMs: lastBuildMs, requests } = this
    const startedAt = this.#startedAt
    const heapBytes = startedAt === undefined ? undefined : this.#heapBytes
    const life = startedAt === undefined ? 'starting' : isBusy ? 'busy' : 'idle'
    return { thread: this.#thread, state: isEnding ? 'ending' : life, startedAt, lastBuildMs, heapBytes, requests }
  }
}
