import type { BodyWriter } from '@svc/http'
import { DrainSignal } from '../../src/exchange/chunk-queue.ts'

/** Where the bytes of a memory writer go. */
export interface MemorySink {
  readonly isOver: boolean
  data(chunk: Uint8Array): void
  end(): void
  cut(reason?: 'longer' | 'shorter'): void
}

/** Writes a streamed body to memory as if the peer read `windowBytes` in each turn of the event loop. */
export class MemoryWriter implements BodyWriter {
  readonly #sink: MemorySink
  readonly #windowBytes: number
  readonly #totalBytes: number | undefined
  readonly #drain = new DrainSignal()
  #roomBytes: number
  #writtenBytes = 0
  #isEnded = false
  #isRefillDue = false

  constructor(sink: MemorySink, windowBytes: number, totalBytes: number | undefined) {
    this.#sink = sink
    this.#windowBytes = windowBytes
    this.#roomBytes = windowBytes
    this.#totalBytes = totalBytes
  }

  write(chunk: Uint8Array): boolean {
    if (this.#sink.isOver || this.#isEnded || chunk.byteLength === 0) return true
    this.#writtenBytes += chunk.byteLength
    if (this.#totalBytes !== undefined && this.#writtenBytes > this.#totalBytes) {
      this.#sink.cut('longer')
      return true
    }
    this.#sink.data(chunk.slice())
    this.#roomBytes -= chunk.byteLength
    if (this.#roomBytes > 0) return true
    this.#drain.arm()
    this.#refillLater()
    return false
  }

  onDrain(listener: () => void): void {
    this.#drain.listen(listener)
  }

  end(chunk?: Uint8Array): void {
    if (this.#isEnded) return
    if (chunk !== undefined) this.write(chunk)
    this.#isEnded = true
    if (this.#sink.isOver) return
    if (this.#totalBytes !== undefined && this.#writtenBytes < this.#totalBytes) this.#sink.cut('shorter')
    else this.#sink.end()
  }

  abort(): void {
    this.#sink.cut()
  }

  /** The exchange is over without the writer's doing: whoever waits goes on, and finds out. */
  gone(): void {
    this.#drain.fire()
  }

  #refillLater(): void {
    if (this.#isRefillDue) return
    this.#isRefillDue = true
    setImmediate(() => {
      this.#isRefillDue = false
      this.#roomBytes = this.#windowBytes
      this.#drain.fire()
    })
  }
}
