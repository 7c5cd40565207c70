import { StreamWriter } from '../exchange/stream-writer.ts'
import { writeLastChunk } from './closing.ts'
import type { ResponsePort } from './sized-writer.ts'

/** Bytes waiting here past which a writer is told to wait. */
const HIGH_WATER_BYTES = 64 * 1024
/**
 * Most body bytes for one cork. The library loses bytes when the writes of one cork outgrow its buffer of 16 KB and the
 * socket is full at that moment (uWebSockets.js issue 1249): a piece always fits together with its framing.
 */
const MAX_PIECE_BYTES = 16 * 1024 - 64
/** Room for status line, Date and Transfer-Encoding before the first piece. */
const HEAD_ROOM_BYTES = 256

/** The head of a chunked response. */
interface ChunkedHead {
  readonly bytes: number
  write(): void
  /** Queried at the end: true if the connection closes after the response. */
  closes(): boolean
  /** True if the library closes it when the response is complete. */
  readonly isClosedByLibrary: boolean
  /** Answers with a body of known length instead: all of it is there before anything was written. */
  endWhole(body: Uint8Array): void
}

/**
 * Writes a body of unknown length in chunks (RFC 9112 section 7.1). Everything is written in a tick of its own, one piece per
 * cork, chunks queued in the same tick together.
 */
export class ChunkedWriter extends StreamWriter<ResponsePort> {
  readonly #head: ChunkedHead
  #pieceLimit: number
  /** Of chunks whose last bytes are in the piece that is being written. */
  #onUnused: (() => void)[] = []
  #isHeadWritten = false
  #isScheduled = false
  #isFinished = false
  #wasBlocked = false

  constructor(port: ResponsePort, head: ChunkedHead) {
    super(port, undefined)
    this.#head = head
    this.#pieceLimit = MAX_PIECE_BYTES - HEAD_ROOM_BYTES - head.bytes
  }

  protected override get isFull(): boolean {
    return this.blockedSince !== undefined || this.queue.bytes >= HIGH_WATER_BYTES
  }

  /** The socket takes more. */
  writable(): void {
    this.blockedSince = undefined
    // The library flushes its buffer only with the next write, or with a cork of nothing.
    if (this.queue.isEmpty) this.port.res.cork(nothing)
    this.#flushNow()
  }

  protected flush(): void {
    if (this.#isScheduled || this.blockedSince !== undefined) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#flushNow()
    })
  }

  #flushNow(): void {
    if (this.isEnded && !this.#isHeadWritten && this.#mustHold && !this.port.isOver) {
      this.#endWhole()
      return
    }
    while (!this.port.isOver && !this.queue.isEmpty && this.blockedSince === undefined) {
      if (this.#isLastPiece()) this.#finish(this.#takePiece())
      else this.#writePiece()
    }
    if (this.port.isOver || this.#isFinished || this.blockedSince !== undefined) return
    if (this.isEnded) this.#finish(undefined)
    else this.drained()
  }

  #writePiece(): void {
    const { res } = this.port
    if (!this.#isHeadWritten && this.#pieceLimit <= 0) {
      // A head that leaves no room for data goes alone.
      res.cork(() => this.#ensureHead())
      this.#pieceLimit = MAX_PIECE_BYTES
    }
    const piece = this.#takePiece()
    let isTaken = true
    res.cork(() => {
      this.#ensureHead()
      isTaken = res.write(piece)
    })
    this.#pieceLimit = MAX_PIECE_BYTES
    this.#free()
    if (isTaken) return
    this.#wasBlocked = true
    this.blockedSince = performance.now()
  }

  /** True if the queue can go out in one cork together with the end: then it costs one system call instead of two. */
  #isLastPiece(): boolean {
    return this.isEnded && this.#isHeadWritten && this.queue.bytes <= this.#pieceLimit && !this.#mustHold
  }

  /** True if the response must stay pending until the connection is closed. A client that is slow might send a request before. */
  get #mustHold(): boolean {
    return this.#head.closes() && !(this.#head.isClosedByLibrary && this.#isHeadWritten && !this.#wasBlocked)
  }

  #ensureHead(): void {
    if (this.#isHeadWritten) return
    this.#isHeadWritten = true
    this.#head.write()
  }

  #takePiece(): Uint8Array {
    const parts: Uint8Array[] = []
    let room = this.#pieceLimit
    while (room > 0) {
      const first = this.queue.take()
      if (first === undefined) break
      const { bytes, onUnused } = first
      if (bytes.byteLength > room) {
        this.queue.putBack({ bytes: bytes.subarray(room), onUnused })
      } else if (onUnused !== undefined) {
        this.#onUnused.push(onUnused)
      }
      const part = bytes.subarray(0, room)
      parts.push(part)
      room -= part.byteLength
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }

  /** The library has taken the piece, or copied it. */
  #free(): void {
    for (const onUnused of this.#onUnused.splice(0)) onUnused()
  }

  #finish(piece: Uint8Array | undefined): void {
    if (this.port.isOver) return
    this.#isFinished = true
    if (this.#mustHold) {
      this.#finishLast()
      return
    }
    this.port.beforeEnd()
    this.port.res.cork(() => {
      this.#ensureHead()
      if (piece === undefined) this.port.res.end()
      else this.port.res.end(piece)
    })
    this.#free()
    this.port.completed()
  }

  #endWhole(): void {
    this.#isFinished = true
    this.#pieceLimit = this.queue.bytes
    const pieces: Uint8Array[] = []
    while (!this.queue.isEmpty) pieces.push(this.#takePiece())
    // Copied, so that the pieces are free.
    this.#head.endWhole(Buffer.concat(pieces))
    this.#free()
  }

  #finishLast(): void {
    this.port.beforeEnd()
    this.port.res.cork(() => writeLastChunk(this.port.res))
    this.port.flushed(this.#wasBlocked)
  }
}

function nothing(): void {
  // An empty cork: its end flushes the bytes that the socket did not take before.
}
