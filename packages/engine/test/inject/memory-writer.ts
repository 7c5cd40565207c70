import { StreamWriter, type WriterPort } from '../../src/exchange/stream-writer.ts'

/** Receiver of a memory writer's bytes. */
export interface MemorySink extends WriterPort {
  data(chunk: Uint8Array): void
  end(): void
}

/** Writes a streamed body to memory as if the peer read `windowBytes` in each turn of the event loop. */
export class MemoryWriter extends StreamWriter<MemorySink> {
  readonly #windowBytes: number
  #roomBytes: number
  #isRefillDue = false

  constructor(sink: MemorySink, windowBytes: number, totalBytes: number | undefined) {
    super(sink, totalBytes)
    this.#windowBytes = windowBytes
    this.#roomBytes = windowBytes
  }

  protected override get isFull(): boolean {
    return this.#roomBytes <= 0
  }

  protected flush(): void {
    for (let chunk = this.queue.take(); chunk !== undefined; chunk = this.queue.take()) {
      this.port.data(chunk.bytes.slice())
      this.#roomBytes -= chunk.bytes.byteLength
    }
    if (this.isEnded && !this.port.isOver) this.port.end()
    else if (this.isFull) this.#refillLater()
  }

  #refillLater(): void {
    if (this.#isRefillDue) return
    this.#isRefillDue = true
    setImmediate(() => {
      this.#isRefillDue = false
      this.#roomBytes = this.#windowBytes
      this.drained()
    })
  }
}
