import type { Writable } from 'node:stream'
import type { HeaderList } from '@svc/http'
import type { QueuedChunk } from '../exchange/chunk-queue.ts'
import { StreamWriter, type WriterPort } from '../exchange/stream-writer.ts'

/** Most bytes handed over at once: this shows if a slow reader takes anything at all. */
export const MAX_SLICE_BYTES = 64 * 1024

/** The parts of an exchange that its writer uses. */
export interface NodeWriterPort extends WriterPort {
  readonly out: Writable
  /** Every byte has been handed over but for the last slice. */
  lastSlice(chunk: Uint8Array | undefined, trailers: HeaderList): void
}

/** Writes a streamed body, slice by slice as the connection takes it. */
export class NodeWriter extends StreamWriter<NodeWriterPort> {
  #trailers: HeaderList = []
  #isFinished = false
  /** True if anything, be it the end alone, was handed over. */
  hasWritten = false
  /** When something was handed over last. */
  wroteAt = performance.now()

  constructor(port: NodeWriterPort, totalBytes: number | undefined) {
    super(port, totalBytes)
    port.out.on('drain', () => this.#writable())
  }

  override end(chunk?: Uint8Array, trailers: HeaderList = []): void {
    if (!this.isEnded) this.#trailers = trailers
    super.end(chunk)
  }

  #writable(): void {
    this.blockedSince = undefined
    this.flush()
    if (this.blockedSince === undefined) this.drained()
  }

  protected flush(): void {
    while (this.blockedSince === undefined && !this.port.isOver && !this.#isFinished) {
      const slice = this.#nextSlice()
      if (this.isEnded && this.queue.isEmpty) {
        this.#isFinished = true
        this.hasWritten = true
        this.port.lastSlice(slice?.bytes, this.#trailers)
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
    if (onUnused === undefined) return this.port.out.write(bytes)
    return this.port.out.write(bytes, (error) => {
      if (error === null || error === undefined) onUnused()
    })
  }

  #nextSlice(): QueuedChunk | undefined {
    const first = this.queue.take()
    if (first === undefined || first.bytes.byteLength <= MAX_SLICE_BYTES) return first
    const { bytes, onUnused } = first
    this.queue.putBack({ bytes: bytes.subarray(MAX_SLICE_BYTES), onUnused })
    return { bytes: bytes.subarray(0, MAX_SLICE_BYTES), onUnused: undefined }
  }
}
