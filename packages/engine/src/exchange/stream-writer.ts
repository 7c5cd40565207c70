import type { BodyWriter, HeaderList } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import { ChunkQueue } from './chunk-queue.ts'

/** The parts of an exchange that its body writer uses. */
export interface WriterPort {
  /** True if nothing can be written any more. */
  readonly isOver: boolean
  /** Cuts the connection because the body cannot be completed. */
  cut(reason?: Error): void
}

/** The common part of the body writers: queues chunks, checks the declared length, and tells the source when it may go on. */
export abstract class StreamWriter<Port extends WriterPort = WriterPort> implements BodyWriter {
  protected readonly port: Port
  protected readonly queue = new ChunkQueue()
  protected readonly totalBytes: number | undefined
  protected acceptedBytes = 0
  protected isEnded = false
  /** Since when (monotonic ms) the peer takes nothing, or undefined. */
  blockedSince: number | undefined
  #onDrain: (() => void) | undefined
  #isAwaited = false

  /** @param totalBytes declared length; undefined: there is none */
  constructor(port: Port, totalBytes: number | undefined) {
    this.port = port
    this.totalBytes = totalBytes
  }

  /** Hands over as much of the queue as the peer takes, and the end behind it. */
  protected abstract flush(): void

  /** True if the source has to wait. */
  protected get isFull(): boolean {
    return this.blockedSince !== undefined
  }

  write(chunk: Uint8Array, onUnused?: () => void): boolean {
    if (this.port.isOver || this.isEnded || chunk.byteLength === 0 || !this.#accept(chunk, onUnused)) return true
    this.flush()
    if (!this.isFull) return true
    this.#isAwaited = true
    return false
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  end(chunk?: Uint8Array, _trailers?: HeaderList): void {
    if (this.isEnded || this.port.isOver) return
    if (chunk !== undefined && chunk.byteLength > 0 && !this.#accept(chunk, undefined)) return
    this.isEnded = true
    if (this.totalBytes !== undefined && this.acceptedBytes < this.totalBytes) this.#refuse('shorter')
    else this.flush()
  }

  abort(): void {
    this.port.cut()
  }

  /** The response ended without the writer: a source that waits goes on, and finds out. */
  gone(): void {
    this.queue.clear()
    this.drained()
  }

  /** Lets a source go on that was told to wait. */
  protected drained(): void {
    if (!this.#isAwaited) return
    this.#isAwaited = false
    this.#onDrain?.()
  }

  #accept(bytes: Uint8Array, onUnused: (() => void) | undefined): boolean {
    this.acceptedBytes += bytes.byteLength
    if (this.totalBytes !== undefined && this.acceptedBytes > this.totalBytes) return this.#refuse('longer')
    this.queue.push({ bytes, onUnused })
    return true
  }

  #refuse(how: 'longer' | 'shorter'): false {
    const message = `a response body was ${how} than its declared ${this.totalBytes} bytes`
    this.port.cut(new EngineError('ENGINE_WRONG_LENGTH', message))
    return false
  }
}

/** Takes a body that is not sent: for HEAD, 204, 304, and clients that are gone. */
export const discardingWriter: BodyWriter = Object.freeze({
  write: () => true,
  onDrain: () => undefined,
  end: () => undefined,
  abort: () => undefined,
})
