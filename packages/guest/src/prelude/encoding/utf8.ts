/** Encodes text as UTF-8; lone surrogates become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 3)
  return bytes.slice(0, encodeUtf8Into(text, bytes).written)
}

/** Encodes as much of the text as fits. Returns UTF-16 units read and bytes written; no character is cut. */
export function encodeUtf8Into(text: string, bytes: Uint8Array): { read: number; written: number } {
  let at = 0
  let i = 0
  for (; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) {
      if (at >= bytes.length) break
      bytes[at++] = unit
      continue
    }
    const isPair = unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
    const code = isPair
      ? ((unit - 0xd800) << 10) + (text.charCodeAt(i + 1) - 0xdc00) + 0x10000
      : unit >= 0xd800 && unit < 0xe000
        ? 0xfffd
        : unit
    const size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (at + size > bytes.length) break
    writeSequence(bytes, at, code, size)
    at += size
    if (isPair) i++
  }
  return { read: i, written: at }
}

function writeSequence(bytes: Uint8Array, at: number, code: number, size: number): void {
  let rest = code
  for (let i = at + size - 1; i > at; i--) {
    bytes[i] = 0x80 | (rest & 0x3f)
    rest >>= 6
  }
  bytes[at] = rest | (size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0)
}

/** Returns how many bytes the text takes as UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) bytes++
    else if (unit < 0x800) bytes += 2
    else if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      bytes += 4
      i++
    } else bytes += 3
  }
  return bytes
}

/** Units joined at once: `fromCharCode` takes its arguments on the stack. */
const CHUNK_UNITS = 4096

/** Collects UTF-16 units and makes a string of them. */
class UnitBuffer {
  #text = ''
  #units = new Uint16Array(CHUNK_UNITS)
  #length = 0

  push(code: number): void {
    if (this.#length + 2 > CHUNK_UNITS) this.#flush()
    if (code > 0xffff) {
      this.#units[this.#length++] = 0xd800 + ((code - 0x10000) >> 10)
      this.#units[this.#length++] = 0xdc00 + ((code - 0x10000) & 0x3ff)
    } else this.#units[this.#length++] = code
  }

  #flush(): void {
    this.#text += String.fromCharCode.apply(null, this.#units.subarray(0, this.#length) as unknown as number[])
    this.#length = 0
  }

  take(): string {
    this.#flush()
    const text = this.#text
    this.#text = ''
    return text
  }
}

/** The UTF-8 decoder of the Encoding standard (section 8.1.1): one instance decodes one stream of bytes. */
export class Utf8Decoder {
  readonly #isFatal: boolean
  #code = 0
  #needed = 0
  #seen = 0
  #lower = 0x80
  #upper = 0xbf
  readonly #out = new UnitBuffer()

  constructor(isFatal: boolean) {
    this.#isFatal = isFatal
  }

  /** Decodes the next bytes. Throws TypeError for malformed input when fatal. */
  write(bytes: Uint8Array): string {
    let i = 0
    while (i < bytes.length) if (this.#take(bytes[i] as number)) i++
    return this.#out.take()
  }

  /** Ends the stream: an unfinished sequence is malformed. */
  end(): string {
    if (this.#needed > 0) {
      this.#reset()
      this.#malformed()
    }
    return this.#out.take()
  }

  #malformed(): void {
    if (this.#isFatal) throw new TypeError('The encoded data was not valid for encoding utf-8')
    this.#out.push(0xfffd)
  }

  #reset(): void {
    this.#code = 0
    this.#needed = 0
    this.#seen = 0
    this.#lower = 0x80
    this.#upper = 0xbf
  }

  /** Takes one byte. False: the byte must be looked at again, as the first of a sequence. */
  #take(byte: number): boolean {
    if (this.#needed === 0) {
      this.#begin(byte)
      return true
    }
    if (byte < this.#lower || byte > this.#upper) {
      this.#reset()
      this.#malformed()
      return false
    }
    this.#lower = 0x80
    this.#upper = 0xbf
    this.#code = (this.#code << 6) | (byte & 0x3f)
    if (++this.#seen < this.#needed) return true
    this.#out.push(this.#code)
    this.#reset()
    return true
  }

  #begin(byte: number): void {
    if (byte < 0x80) this.#out.push(byte)
    else if (byte >= 0xc2 && byte <= 0xdf) this.#expect(1, byte & 0x1f)
    else if (byte >= 0xe0 && byte <= 0xef) {
      if (byte === 0xe0) this.#lower = 0xa0
      if (byte === 0xed) this.#upper = 0x9f
      this.#expect(2, byte & 0xf)
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      if (byte === 0xf0) this.#lower = 0x90
      if (byte === 0xf4) this.#upper = 0x8f
      this.#expect(3, byte & 0x7)
    } else this.#malformed()
  }

  #expect(needed: number, bits: number): void {
    this.#needed = needed
    this.#code = bits
  }
}

/** Decodes UTF-8 without a byte order mark, replacing what is malformed (the standard's "UTF-8 decode"). */
export function decodeUtf8(bytes: Uint8Array): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const decoder = new Utf8Decoder(false)
  return decoder.write(hasMark ? bytes.subarray(3) : bytes) + decoder.end()
}
