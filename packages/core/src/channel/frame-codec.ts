import { CoreError } from '../errors.ts'
import type { Frame } from './channel.ts'

// Layout: u32 length of head, u32 length of bytes (both little endian), head as JSON in UTF-8, bytes.
const PREFIX_BYTES = 8
/** Bodies up to this size are joined with their head: one small copy costs less than another entry in writev. */
const JOIN_BELOW_BYTES = 4096

/**
 * Encodes one frame as one or two parts to be written in order, strings in UTF-8. A large body is not copied. A string is
 * written by the socket itself, which costs no memory that the garbage collector has to count.
 */
export function encodeFrame(head: unknown, bytes: Uint8Array | string | undefined): (Uint8Array | string)[] {
  const text = JSON.stringify(head)
  const headBytes = Buffer.byteLength(text)
  const bodyBytes = bytes === undefined ? 0 : Buffer.byteLength(bytes)
  const isJoined = bodyBytes > 0 && bodyBytes <= JOIN_BELOW_BYTES
  const buffer = Buffer.allocUnsafe(PREFIX_BYTES + headBytes + (isJoined ? bodyBytes : 0))
  buffer.writeUInt32LE(headBytes, 0)
  buffer.writeUInt32LE(bodyBytes, 4)
  buffer.write(text, PREFIX_BYTES, 'utf8')
  if (bytes === undefined || bodyBytes === 0) return [buffer]
  if (!isJoined) return [buffer, bytes]
  if (typeof bytes === 'string') buffer.write(bytes, PREFIX_BYTES + headBytes, 'utf8')
  else buffer.set(bytes, PREFIX_BYTES + headBytes)
  return [buffer]
}

/** Cuts a byte stream into frames. */
export class FrameDecoder {
  readonly #maxFrameBytes: number
  /** What has arrived of frames that are not complete. */
  #parts: Buffer[] = []
  #available = 0
  /** Total length of the frame under way, or 0 when its prefix has not been read. */
  #needed = 0

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /**
   * Takes what arrived and hands over every frame that is complete. With `isLent`, `data` is not used after the return, and
   * frames that lie in it as a whole are lent on.
   * @throws CORE_PROTOCOL for a frame past the limit or a head that is not JSON
   */
  push(data: Buffer, isLent: boolean, deliver: (frame: Frame) => void): void {
    this.#parts.push(data)
    this.#available += data.byteLength
    while (this.#available >= Math.max(PREFIX_BYTES, this.#needed)) {
      const areLent = isLent && this.#parts.length === 1
      const joined = this.#join()
      if (this.#needed === 0) this.#needed = this.#frameLength(joined)
      if (joined.byteLength < this.#needed) break
      const headEnd = PREFIX_BYTES + joined.readUInt32LE(0)
      const head: unknown = JSON.parse(joined.toString('utf8', PREFIX_BYTES, headEnd))
      const bytes = headEnd === this.#needed ? undefined : joined.subarray(headEnd, this.#needed)
      this.#consume(joined, this.#needed)
      deliver(areLent ? { head, bytes, isLent: true } : { head, bytes })
    }
    if (isLent) this.#keepRest(data)
  }

  /** What is left of lent memory is copied; a part that was joined is our own already. */
  #keepRest(data: Buffer): void {
    const last = this.#parts.at(-1)
    if (last !== undefined && last.buffer === data.buffer) this.#parts[this.#parts.length - 1] = Buffer.from(last)
  }

  #join(): Buffer {
    const joined = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts, this.#available)
    this.#parts = [joined]
    return joined
  }

  #frameLength(joined: Buffer): number {
    const length = PREFIX_BYTES + joined.readUInt32LE(0) + joined.readUInt32LE(4)
    if (length > this.#maxFrameBytes) {
      throw new CoreError('CORE_PROTOCOL', `frame of ${length} bytes is over the limit of ${this.#maxFrameBytes}`)
    }
    return length
  }

  #consume(joined: Buffer, count: number): void {
    this.#available -= count
    this.#needed = 0
    this.#parts = this.#available === 0 ? [] : [joined.subarray(count)]
  }
}
