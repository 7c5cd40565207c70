import { concatBytes } from '../encoding/bytes.ts'
import { decodeText, encodeText, encodingOf, knownEncoding } from './buffer-encoding.ts'
import { numberMethods } from './buffer-numbers.ts'

type Bytes = Uint8Array<ArrayBuffer>

function wrap(bytes: Uint8Array): Buffer {
  return new Buffer(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength)
}

function zeroed(size: number): Buffer {
  return wrap(new Uint8Array(size))
}

function toBytes(value: unknown, encoding?: unknown): Uint8Array {
  if (typeof value === 'string') return encodeText(value, knownEncoding(encoding))
  if (value instanceof Uint8Array) return value
  throw new TypeError('The value must be a string, a Buffer or a Uint8Array')
}

function fillPattern(value: unknown, encoding: unknown): Uint8Array {
  if (typeof value === 'number') return Uint8Array.of(value & 255)
  const bytes = toBytes(value, encoding)
  return bytes.length === 0 ? Uint8Array.of(0) : bytes
}

/** Node's `Buffer` in plain JavaScript, over Uint8Array. */
export class Buffer extends Uint8Array<ArrayBuffer> {
  static readonly poolSize = 0

  static override from(value: unknown, second?: unknown, third?: unknown): Buffer {
    if (typeof value === 'string') return wrap(encodeText(value, knownEncoding(second)))
    if (value instanceof ArrayBuffer) {
      return new Buffer(value, second as number | undefined, third as number | undefined)
    }
    if (typeof value !== 'object' || value === null)
      throw new TypeError('Buffer.from needs a string, an ArrayBuffer, an array or a Buffer')
    const source = value as { type?: unknown; data?: unknown; length?: unknown; valueOf(): unknown }
    if (source.type === 'Buffer' && Array.isArray(source.data)) return wrap(Uint8Array.from(source.data as number[]))
    if (typeof source.length === 'number' || Symbol.iterator in source) return wrap(Uint8Array.from(source as ArrayLike<number>))
    const primitive = source.valueOf()
    if (typeof primitive === 'string') return Buffer.from(primitive, second)
    throw new TypeError('Buffer.from needs a string, an ArrayBuffer, an array or a Buffer')
  }

  static override of(...items: number[]): Buffer {
    return wrap(Uint8Array.of(...items))
  }

  static alloc(size: number, fill?: unknown, encoding?: unknown): Buffer {
    const buffer = zeroed(size)
    return fill === undefined || fill === 0 ? buffer : buffer.fill(fill as number, encoding as number)
  }

  /** Zeroed, too: memory of others is never handed out. */
  static allocUnsafe(size: number): Buffer {
    return zeroed(size)
  }

  static allocUnsafeSlow(size: number): Buffer {
    return zeroed(size)
  }

  static concat(list: readonly Uint8Array[], totalLength?: number): Buffer {
    const joined: Bytes = concatBytes(list)
    if (totalLength === undefined || totalLength === joined.length) return wrap(joined)
    const buffer = Buffer.alloc(totalLength)
    buffer.set(joined.subarray(0, totalLength))
    return buffer
  }

  static byteLength(value: unknown, encoding?: unknown): number {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength
    return encodeText(String(value), knownEncoding(encoding)).length
  }

  static isBuffer(value: unknown): boolean {
    return value instanceof Buffer
  }

  static isEncoding(name: unknown): boolean {
    return typeof name === 'string' && name !== '' && encodingOf(name) !== undefined
  }

  static compare(one: Uint8Array, other: Uint8Array): number {
    const shared = Math.min(one.length, other.length)
    for (let i = 0; i < shared; i++) {
      const difference = (one[i] as number) - (other[i] as number)
      if (difference !== 0) return Math.sign(difference)
    }
    return Math.sign(one.length - other.length)
  }

  override toString(encoding?: unknown, start = 0, end = this.length): string {
    return decodeText(this.subarray(Math.max(0, start), Math.max(0, end)), knownEncoding(encoding))
  }

  override toLocaleString(encoding?: unknown): string {
    return this.toString(encoding)
  }

  toJSON(): { type: 'Buffer'; data: number[] } {
    return { type: 'Buffer', data: Array.from(this) }
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && Buffer.compare(this, other) === 0
  }

  compare(...given: [other: Uint8Array, start?: number, end?: number, ownStart?: number, ownEnd?: number]): number {
    const [other, start = 0, end = other.length, ownStart = 0, ownEnd = this.length] = given
    return Buffer.compare(this.subarray(ownStart, ownEnd), other.subarray(start, end))
  }

  /** Unlike `slice` of Uint8Array it shares memory, as in Node. */
  override slice(start?: number, end?: number): Buffer {
    return this.subarray(start, end)
  }

  override subarray(start?: number, end?: number): Buffer {
    return wrap(super.subarray(start, end))
  }

  write(text: string, ...rest: unknown[]): number {
    const encoding = rest.find((value) => typeof value === 'string')
    const [at = 0, length = this.length] = rest.filter((value): value is number => typeof value === 'number')
    const known = knownEncoding(encoding)
    const room = Math.max(0, Math.min(length, this.length - at))
    let bytes = encodeText(text, known)
    if (bytes.length > room) {
      // A character of UTF-8 is written whole or not at all.
      let cut = room
      while (known === 'utf8' && cut > 0 && ((bytes[cut] as number) & 0xc0) === 0x80) cut--
      bytes = bytes.subarray(0, cut)
    }
    this.set(bytes, at)
    return bytes.length
  }

  copy(...given: [target: Uint8Array, targetStart?: number, start?: number, end?: number]): number {
    const [target, targetStart = 0, start = 0, end = this.length] = given
    const piece = this.subarray(start, Math.min(end, start + Math.max(0, target.length - targetStart)))
    target.set(piece, targetStart)
    return piece.length
  }

  override fill(value: unknown, ...rest: unknown[]): this {
    const encoding = rest.find((item) => typeof item === 'string')
    const [start = 0, end = this.length] = rest.filter((item): item is number => typeof item === 'number')
    const pattern = fillPattern(value, encoding)
    for (let i = start; i < Math.min(end, this.length); i++) this[i] = pattern[(i - start) % pattern.length] as number
    return this
  }

  override indexOf(value: unknown, from: unknown = 0, encoding?: unknown): number {
    const start = typeof from === 'number' ? (from < 0 ? Math.max(0, this.length + from) : from) : 0
    if (typeof value === 'number') return super.indexOf(value & 255, start)
    const needle = toBytes(value, typeof from === 'string' ? from : encoding)
    for (let at = start; at + needle.length <= this.length; at++) {
      let i = 0
      while (i < needle.length && this[at + i] === needle[i]) i++
      if (i === needle.length) return at
    }
    return -1
  }

  override lastIndexOf(value: unknown, from: unknown = this.length - 1, encoding?: unknown): number {
    const start = typeof from === 'number' ? (from < 0 ? this.length + from : from) : this.length - 1
    if (typeof value === 'number') return super.lastIndexOf(value & 255, start)
    const needle = toBytes(value, typeof from === 'string' ? from : encoding)
    for (let at = Math.min(start, this.length - needle.length); at >= 0; at--) {
      let i = 0
      while (i < needle.length && this[at + i] === needle[i]) i++
      if (i === needle.length) return at
    }
    return -1
  }

  override includes(value: unknown, from?: unknown, encoding?: unknown): boolean {
    return this.indexOf(value, from, encoding) >= 0
  }

  inspect(): string {
    const shown = Array.from(super.subarray(0, 50), (byte) => byte.toString(16).padStart(2, '0')).join(' ')
    return `<Buffer ${shown}${this.length > 50 ? ` ... ${this.length - 50} more bytes` : ''}>`
  }
}

for (const [name, value] of Object.entries(numberMethods())) {
  Object.defineProperty(Buffer.prototype, name, { value, writable: true, enumerable: false, configurable: true })
}
