import { CoreError } from '@svc/core'

const FIRST_BYTES = 4 * 1024
/** Longest form of a number up to 2^53. */
const MAX_NUMBER_BYTES = 8

/** Writes whole numbers and texts into bytes: numbers in seven bits a byte, texts with their length before them. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** @param value a whole number, 0 to 2^53 - 1 */
  number(value: number): void {
    this.#reserve(MAX_NUMBER_BYTES)
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.number(length)
    this.#reserve(length)
    this.#length += this.#bytes.write(value, this.#length)
  }

  /** Writes the bytes of another writer, with their length before them. */
  section(inner: ByteWriter): void {
    this.number(inner.length)
    this.#reserve(inner.length)
    this.#length += inner.#bytes.copy(this.#bytes, this.#length, 0, inner.length)
  }

  clear(): void {
    this.#length = 0
  }

  /** A copy of the bytes so far. */
  copy(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.byteLength) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.byteLength, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** Reads the bytes of a `ByteWriter`. All methods throw CORE_PROTOCOL at the end of the bytes. */
export class ByteReader {
  readonly #bytes: Buffer
  readonly #end: number
  #position: number

  constructor(bytes: Buffer, position = 0, end = bytes.byteLength) {
    this.#bytes = bytes
    this.#position = position
    this.#end = end
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#end
  }

  number(): number {
    let value = 0
    let unit = 1
    for (let count = 0; count < MAX_NUMBER_BYTES; count++) {
      const byte = this.#bytes[this.#take(1)] as number
      value += (byte & 0x7f) * unit
      if (byte < 0x80) return value
      unit *= 0x80
    }
    throw new CoreError('CORE_PROTOCOL', 'a number has too many bytes')
  }

  text(): string {
    const length = this.number()
    const start = this.#take(length)
    return this.#bytes.toString('utf8', start, start + length)
  }

  /** A reader of a part that `section` wrote. */
  section(): ByteReader {
    const length = this.number()
    const start = this.#take(length)
    return new ByteReader(this.#bytes, start, start + length)
  }

  #take(length: number): number {
    const start = this.#position
    if (start + length > this.#end) throw new CoreError('CORE_PROTOCOL', 'a record ends too early')
    this.#position = start + length
    return start
  }
}
