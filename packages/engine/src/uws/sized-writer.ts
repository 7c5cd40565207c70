import type { BodyWriter } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import type { QueuedChunk } from '../exchange/chunk-queue.ts'
import { ChunkQueue, DrainSignal } from '../exchange/chunk-queue.ts'
import type { ResponsePort, WriterSide } from './response-port.ts'

/**
 * Writes a body of known length without letting the library buffer it.
 *
 * A held one is declared one byte longer to the library than to the client, once the head is out: the client has the whole
 * response, but for the library it is still pending. So it takes no further request from this connection, however the bytes
 * behind the request read, until the engine closes it.
 */
export class SizedWriter implements BodyWriter, WriterSide {
  readonly #port: ResponsePort
  readonly #totalBytes: number
  readonly #isHeld: boolean
  readonly #drain = new DrainSignal()
  #writeHead: (() => void) | undefined
  readonly #queue = new ChunkQueue()
  #isReleased = false
  #acceptedBytes = 0
  #writtenBytes = 0
  blockedSince: number | undefined

  /** @param totalBytes at least 1 */
  constructor(port: ResponsePort, writeHead: () => void, totalBytes: number, isHeld: boolean) {
    this.#port = port
    this.#writeHead = writeHead
    this.#totalBytes = totalBytes
    this.#isHeld = isHeld
  }

  /** Sends the head before there is any data. */
  start(): this {
    if (!this.#port.isOver) this.#port.res.cork(() => this.#ensureHead())
    return this
  }

  /** Continues a body that was handed to the library with its head, and that it took only in part. */
  resume(body: Uint8Array): void {
    this.#writeHead = undefined
    this.#acceptedBytes = this.#totalBytes
    this.#writtenBytes = this.#port.res.getWriteOffset()
    this.#queue.push({ bytes: body.subarray(this.#writtenBytes), onUnused: undefined })
    this.blockedSince = performance.now()
  }

  write(chunk: Uint8Array, onUnused?: () => void): boolean {
    if (this.#port.isOver || chunk.byteLength === 0) return true
    this.#acceptedBytes += chunk.byteLength
    if (this.#acceptedBytes > this.#totalBytes) return this.#refuse('longer')
    this.#queue.push({ bytes: chunk, onUnused })
    this.#pump()
    if (this.blockedSince === undefined) return true
    this.#drain.arm()
    return false
  }

  onDrain(listener: () => void): void {
    this.#drain.listen(listener)
  }

  end(chunk?: Uint8Array): void {
    if (chunk !== undefined) this.write(chunk)
    if (!this.#port.isOver && this.#acceptedBytes < this.#totalBytes) this.#refuse('shorter')
  }

  /** Writes a complete body. @param isLent true if the bytes that the socket does not take at once have to be copied */
  endWhole(body: Uint8Array, isLent: boolean): void {
    this.end(body)
    const rest = isLent ? this.#queue.take() : undefined
    if (rest !== undefined) this.#queue.putBack({ bytes: Buffer.from(rest.bytes), onUnused: undefined })
  }

  abort(): void {
    this.#port.cut()
  }

  writable(): void {
    this.blockedSince = undefined
    this.#pump()
    if (this.blockedSince === undefined) this.#drain.fire()
  }

  gone(): void {
    this.#queue.clear()
    this.#drain.fire()
  }

  #refuse(how: 'longer' | 'shorter'): boolean {
    const facts = `a response body was ${how} than its declared ${this.#totalBytes} bytes`
    this.#port.cut(new EngineError('ENGINE_WRONG_LENGTH', facts))
    return true
  }

  #pump(): void {
    while (this.blockedSince === undefined && !this.#port.isOver) {
      const chunk = this.#queue.take()
      if (chunk === undefined) {
        if (this.#isHeld && !this.#isReleased && this.#writtenBytes === this.#totalBytes) this.#releaseSoon()
        return
      }
      this.#writeChunk(chunk)
    }
  }

  /** In a turn of its own: within the handler nothing has reached the socket yet. */
  #releaseSoon(): void {
    this.#isReleased = true
    setImmediate(() => this.#release())
  }

  /** Everything was handed over, but the library may still keep some: closing the connection would lose it. */
  #release(): void {
    if (this.#port.isOver) return
    const { res } = this.#port
    let isTaken = true
    res.cork(() => {
      isTaken = res.tryEnd('', this.#totalBytes + 1)[0]
    })
    this.#isReleased = isTaken
    if (isTaken) this.#port.flushed()
    else this.blockedSince = performance.now()
  }

  #writeChunk({ bytes, onUnused }: QueuedChunk): void {
    const { res } = this.#port
    const before = this.#writtenBytes
    let isTaken = true
    let isDone = false
    if (before + bytes.byteLength === this.#totalBytes) this.#port.beforeEnd()
    res.cork(() => {
      if (this.#isHeld) this.#ensureHead()
      else this.#takeHead()?.()
      ;[isTaken, isDone] = res.tryEnd(bytes, this.#isHeld ? this.#totalBytes + 1 : this.#totalBytes)
    })
    if (isDone) {
      onUnused?.()
      this.#port.completed()
      return
    }
    this.#writtenBytes = res.getWriteOffset()
    const taken = this.#writtenBytes - before
    if (taken < bytes.byteLength) this.#queue.putBack({ bytes: bytes.subarray(taken), onUnused })
    else onUnused?.()
    if (!isTaken) this.blockedSince = performance.now()
  }

  #ensureHead(): void {
    const writeHead = this.#takeHead()
    if (writeHead === undefined) return
    writeHead()
    this.#port.res.tryEnd('', this.#totalBytes)
  }

  #takeHead(): (() => void) | undefined {
    const writeHead = this.#writeHead
    this.#writeHead = undefined
    return writeHead
  }
}
