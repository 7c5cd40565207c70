import type { HttpResponse } from 'uWebSockets.js'
import type { QueuedChunk } from '../exchange/chunk-queue.ts'
import { StreamWriter, type WriterPort } from '../exchange/stream-writer.ts'

/** The parts of an exchange that its body writer uses. Owned by the writers; all calls are synchronous. */
export interface ResponsePort extends WriterPort {
  /** Not to be touched once `isOver`: uWebSockets.js has released the response then. */
  readonly res: HttpResponse
  /** To be called before the call that may complete the response. */
  beforeEnd(): void
  /** The library says that the response is complete. */
  completed(): void
  /**
   * Every byte was handed over while the library still waits for more, so that the connection can be closed.
   * @param isBuffered true if the library may still hold the last bytes, so that closing has to wait
   */
  flushed(isBuffered?: boolean): void
}

/**
 * Writes a body of known length without letting the library buffer it.
 *
 * A held one is declared one byte longer to the library than to the client, once the head is out: the client has the whole
 * response, but for the library it is still pending. So it takes no further request from this connection, however the bytes
 * behind the request read, until the engine closes it.
 */
export class SizedWriter extends StreamWriter<ResponsePort> {
  declare protected readonly totalBytes: number
  readonly #isHeld: boolean
  #writeHead: (() => void) | undefined
  #isReleased = false
  #writtenBytes = 0

  /** @param totalBytes at least 1 */
  constructor(port: ResponsePort, writeHead: () => void, totalBytes: number, isHeld: boolean) {
    super(port, totalBytes)
    this.#writeHead = writeHead
    this.#isHeld = isHeld
  }

  /** Sends the head before there is any data. */
  start(): this {
    if (!this.port.isOver) this.port.res.cork(() => this.#ensureHead())
    return this
  }

  /** Continues a body that was handed to the library with its head, and that it took only in part. */
  resume(body: Uint8Array): void {
    this.#writeHead = undefined
    this.acceptedBytes = this.totalBytes
    this.#writtenBytes = this.port.res.getWriteOffset()
    this.queue.push({ bytes: body.subarray(this.#writtenBytes), onUnused: undefined })
    this.blockedSince = performance.now()
  }

  /** Writes a complete body. @param isLent true if the bytes that the socket does not take at once have to be copied */
  endWhole(body: Uint8Array, isLent: boolean): void {
    this.end(body)
    const rest = isLent ? this.queue.take() : undefined
    if (rest !== undefined) this.queue.putBack({ bytes: Buffer.from(rest.bytes), onUnused: undefined })
  }

  /** The socket takes more. */
  writable(): void {
    this.blockedSince = undefined
    this.flush()
    if (this.blockedSince === undefined) this.drained()
  }

  protected flush(): void {
    while (this.blockedSince === undefined && !this.port.isOver) {
      const chunk = this.queue.take()
      if (chunk === undefined) {
        if (this.#isHeld && !this.#isReleased && this.#writtenBytes === this.totalBytes) {
          // In a turn of its own: within the handler nothing has reached the socket yet.
          this.#isReleased = true
          setImmediate(() => this.#release())
        }
        return
      }
      this.#writeChunk(chunk)
    }
  }

  /** Everything was handed over, but the library may still keep some: closing the connection would lose it. */
  #release(): void {
    if (this.port.isOver) return
    const { res } = this.port
    let isTaken = true
    res.cork(() => {
      isTaken = res.tryEnd('', this.totalBytes + 1)[0]
    })
    this.#isReleased = isTaken
    if (isTaken) this.port.flushed()
    else this.blockedSince = performance.now()
  }

  #writeChunk({ bytes, onUnused }: QueuedChunk): void {
    const { res } = this.port
    const before = this.#writtenBytes
    let isTaken = true
    let isDone = false
    if (before + bytes.byteLength === this.totalBytes) this.port.beforeEnd()
    res.cork(() => {
      if (this.#isHeld) this.#ensureHead()
      else this.#takeHead()?.()
      ;[isTaken, isDone] = res.tryEnd(bytes, this.#isHeld ? this.totalBytes + 1 : this.totalBytes)
    })
    if (isDone) {
      onUnused?.()
      this.port.completed()
      return
    }
    this.#writtenBytes = res.getWriteOffset()
    const taken = this.#writtenBytes - before
    if (taken < bytes.byteLength) this.queue.putBack({ bytes: bytes.subarray(taken), onUnused })
    else onUnused?.()
    if (!isTaken) this.blockedSince = performance.now()
  }

  #ensureHead(): void {
    const writeHead = this.#takeHead()
    if (writeHead === undefined) return
    writeHead()
    this.port.res.tryEnd('', this.totalBytes)
  }

  #takeHead(): (() => void) | undefined {
    const writeHead = this.#writeHead
    this.#writeHead = undefined
    return writeHead
  }
}
