import { CoreError } from '../errors/errors.ts'
import type { Frame } from './channel.ts'

// Layout: u32 length of head, u32 length of bytes (both little endian), head as JSON in UTF-8, bytes.
const PREFIX_BYTES = 8
/** Bodies up to this size are copied behind their head: a copy costs less than another entry in writev. */
const JOIN_BELOW_BYTES = 32 * 1024
/** Most bytes that UTF-8 takes for one unit of a string. */
const MAX_UTF8_BYTES = 3
/** Frames are gathered in memory of this size, which is used again when it was written. */
const SLAB_BYTES = 256 * 1024

/** Receives the bytes that a `FrameEncoder` has gathered. `sent` is called when the memory of `data` is free again. */
interface FrameOutput {
  write(data: Uint8Array | string, sent?: () => void): void
}

/**
 * Encodes frames, many of them into one piece of memory that leaves in one write. Large bodies are not copied. A large string
 * is written by the socket itself, which costs no memory that the garbage collector has to count.
 */
export class FrameEncoder {
  readonly #output: FrameOutput
  #slab = Buffer.alloc(0)
  /** The slab from here to `#used` is not written yet. */
  #from = 0
  #used = 0
  /** Writes from the slab in flight. */
  #inFlight = 0

  constructor(output: FrameOutput) {
    this.#output = output
  }

  /** Adds a frame. Nothing of what was gathered is sure to be written before `flush`. */
  add(head: unknown, bytes: Uint8Array | string | undefined): void {
    const text = JSON.stringify(head)
    const isText = typeof bytes === 'string'
    const isJoined = bytes !== undefined && bytes.length <= JOIN_BELOW_BYTES
    const joinedRoom = isJoined ? bytes.length * (isText ? MAX_UTF8_BYTES : 1) : 0
    this.#reserve(PREFIX_BYTES + text.length * MAX_UTF8_BYTES + joinedRoom)
    const start = this.#used
    const headEnd = start + PREFIX_BYTES + this.#slab.write(text, start + PREFIX_BYTES)
    let end = headEnd
    if (isJoined) {
      if (isText) end += this.#slab.write(bytes, headEnd)
      else {
        this.#slab.set(bytes, headEnd)
        end += bytes.byteLength
      }
    }
    const bodyBytes = isJoined || bytes === undefined ? end - headEnd : Buffer.byteLength(bytes)
    this.#slab.writeUInt32LE(headEnd - start - PREFIX_BYTES, start)
    this.#slab.writeUInt32LE(bodyBytes, start + 4)
    this.#used = end
    if (isJoined || bytes === undefined) return
    this.flush()
    this.#output.write(bytes)
  }

  /** Writes what was gathered. */
  flush(): void {
    if (this.#from === this.#used) return
    const slab = this.#slab
    const data = slab.subarray(this.#from, this.#used)
    this.#from = this.#used
    this.#inFlight++
    this.#output.write(data, () => this.#written(slab))
  }

  #written(slab: Buffer): void {
    if (slab !== this.#slab) return
    this.#inFlight--
    if (this.#inFlight > 0 || this.#from < this.#used) return
    this.#from = 0
    this.#used = 0
  }

  /** Makes room for a frame. A full slab is left to the writes in flight. */
  #reserve(byteCount: number): void {
    if (this.#used + byteCount <= this.#slab.byteLength) return
    this.flush()
    this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, byteCount))
    this.#from = 0
    this.#used = 0
    this.#inFlight = 0
  }
}

/** A frame up to this size that comes in parts is put together in memory that is kept for the next one. */
const MAX_KEPT_BYTES = 1024 * 1024

/** Cuts a byte stream into frames. */
export class FrameDecoder {
  readonly #maxFrameBytes: number
  readonly #prefix = Buffer.alloc(PREFIX_BYTES)
  /** The partial frame once its length is known; before that its bytes are in `#prefix`. */
  #frame: Buffer | undefined
  /** Bytes received of the partial frame. */
  #filled = 0
  #kept = Buffer.alloc(0)

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /**
   * Takes what arrived and hands over every frame that is complete. With `isLent`, `data` is not used after the return, and
   * frames are lent on.
   * @throws CORE_PROTOCOL for a frame past the limit or a head that is not JSON
   */
  push(data: Buffer, isLent: boolean, deliver: (frame: Frame) => void): void {
    let rest = data
    while (rest.byteLength > 0) {
      const length = this.#filled === 0 && rest.byteLength >= PREFIX_BYTES ? this.#frameLength(rest) : Number.POSITIVE_INFINITY
      if (length <= rest.byteLength) {
        deliver(frameOf(rest, length, isLent))
        rest = rest.subarray(length)
      } else rest = rest.subarray(this.#assemble(rest, isLent, deliver))
    }
  }

  /** Adds to the partial frame, each byte copied once. Returns how many bytes of `data` belong to it. */
  #assemble(data: Buffer, isLent: boolean, deliver: (frame: Frame) => void): number {
    const target = this.#frame ?? this.#prefix
    const count = data.copy(target, this.#filled, 0, target.byteLength - this.#filled)
    this.#filled += count
    if (this.#filled < target.byteLength) return count
    if (this.#frame === undefined) this.#begin(this.#frameLength(target), isLent)
    const frame = this.#frame
    if (frame === undefined || this.#filled < frame.byteLength) return count
    this.#frame = undefined
    this.#filled = 0
    deliver(frameOf(frame, frame.byteLength, isLent))
    return count
  }

  #begin(length: number, isLent: boolean): void {
    if (isLent && length <= MAX_KEPT_BYTES) {
      if (this.#kept.byteLength < length) this.#kept = Buffer.allocUnsafeSlow(length)
      this.#frame = this.#kept.subarray(0, length)
    } else this.#frame = Buffer.allocUnsafeSlow(length)
    this.#prefix.copy(this.#frame)
  }

  #frameLength(data: Buffer): number {
    const length = PREFIX_BYTES + data.readUInt32LE(0) + data.readUInt32LE(4)
    if (length > this.#maxFrameBytes) {
      throw new CoreError('CORE_PROTOCOL', `frame of ${length} bytes is over the limit of ${this.#maxFrameBytes}`)
    }
    return length
  }
}

function frameOf(data: Buffer, length: number, isLent: boolean): Frame {
  const headEnd = PREFIX_BYTES + data.readUInt32LE(0)
  const head: unknown = JSON.parse(data.toString('utf8', PREFIX_BYTES, headEnd))
  const bytes = headEnd === length ? undefined : data.subarray(headEnd, length)
  return isLent ? { head, bytes, isLent: true } : { head, bytes }
}
