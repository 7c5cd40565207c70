import type { Writable } from 'node:stream'
import type { BodyWriter, HeaderList } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import type { QueuedChunk } from '../exchange/chunk-queue.ts'
import { ChunkQueue, DrainSignal } from '../exchange/chunk-queue.ts'

/** Most bytes handed over at once: this shows if a slow reader takes anything at all. */
export const MAX_SLICE_BYTES = 64 * 1024

/** The parts of an exchange that its writer uses. */
export interface WriterPort {
  readonly out: Writable
  readonly isOver: boolean
  /** Every byte has been handed over but for the last slice. */
  lastSlice(chunk: Uint8Array | undefined, trailers: HeaderList): void
  /** Cuts the response because its body cannot be completed. */
  cut(reason?: Error): void
}

/** Writes a streamed body, slice by slice as the connection takes it. */
export class NodeWriter implements BodyWriter {
  readonly #port: WriterPort
  readonly #totalBytes: number | undefined
  readonly #drain = new DrainSignal()
  readonly #queue = new ChunkQueue()
  #writtenBytes = 0
  #trailers: HeaderList = []
  #isEnded = false
  #isFinished = false
  /** Since when (monotonic ms) the peer takes nothing, or undefined. */
  blockedSince: number | undefined
  /** True if anything, be it the end alone, was handed over. */
  hasWritten = false
  /** When something was handed over last. */
  wroteAt = performance.now()

  constructor(port: WriterPort, totalBytes: number | undefined) {
    this.#port = port
    this.#totalBytes = totalBytes
    port.out.on('drain', () => this.#drained())
  }

  write(chunk: Uint8Array, onUnused?: () => void): boolean {
    if (this.#port.isOver || this.#isEnded || chunk.byteLength === 0) return true
    this.#writtenBytes += chunk.byteLength
    if (this.#totalBytes !== undefined && this.#writtenBytes > this.#totalBytes) return this.#refuse('longer')
    this.#queue.push({ bytes: chunk, onUnused })
    this.#pump()
    if (this.blockedSince === undefined) return true
    this.#drain.arm()
    return false
  }

  onDrain(listener: () => void): void {
    this.#drain.listen(listener)
  }

  end(chunk?: Uint8Array, trailers: HeaderList = []): void {
    if (this.#isEnded || this.#port.isOver) return
    if (chunk !== undefined && chunk.byteLength > 0) {
      this.#writtenBytes += chunk.byteLength
      this.#queue.push({ bytes: chunk, onUnused: undefined })
    }
    this.#isEnded = true
    this.#trailers = trailers
    if (this.#totalBytes === undefined || this.#writtenBytes === this.#totalBytes) this.#pump()
    else this.#refuse(this.#writtenBytes < this.#totalBytes ? 'shorter' : 'longer')
  }

  abort(): void {
    this.#port.cut()
  }

  /** The response ended without the writer: waiters resume and find out. */
  gone(): void {
    this.#queue.clear()
    this.#drain.fire()
  }

  #drained(): void {
    this.blockedSince = undefined
    this.#pump()
    if (this.blockedSince === undefined) this.#drain.fire()
  }

  #pump(): void {
    while (this.blockedSince === undefined && !this.#port.isOver && !this.#isFinished) {
      const slice = this.#nextSlice()
      if (this.#isEnded && this.#queue.isEmpty) {
        this.#isFinished = true
        this.hasWritten = true
        this.#port.lastSlice(slice?.bytes, this.#trailers)
        return
      }
      if (slice === undefined) return
      this.hasWritten = true
      this.wroteAt = performance.now()
      if (!this.#writeSlice(slice)) this.blockedSince = this.wroteAt
    }
  }

  /** Node keeps the bytes until they have been sent, or for ever if that fails. */
  #writeSlice({ bytes, onUnused }: QueuedChunk): boolean {
    if (onUnused === undefined) return this.#port.out.write(bytes)
    return this.#port.out.write(bytes, (error) => {
      if (error === null || error === undefined) onUnused()
    })
  }

  #nextSlice(): QueuedChunk | undefined {
    const first = this.#queue.take()
    if (first === undefined || first.bytes.byteLength <= MAX_SLICE_BYTES) return first
    const { bytes, onUnused } = first
    this.#queue.putBack({ bytes: bytes.subarray(MAX_SLICE_BYTES), onUnused })
    return { bytes: bytes.subarray(0, MAX_SLICE_BYTES), onUnused: undefined }
  }

  #refuse(how: 'longer' | 'shorter'): boolean {
    const facts = `a response body was ${how} than its declared ${this.#totalBytes} bytes`
    this.#port.cut(new EngineError('ENGINE_WRONG_LENGTH', facts))
    return true
  }
}
