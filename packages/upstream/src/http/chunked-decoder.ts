import { CONNECTION_FIELDS, type HeaderList, hexValue } from '@svc/http'
import { parseFields } from './answer-head.ts'

/** Longest size line, with its extensions, and longest trailer section, in bytes. */
const MAX_LINE_BYTES = 4096
const MAX_TRAILER_BYTES = 16 * 1024
/** Most hexadecimal digits of a size: the number stays exact. */
const MAX_SIZE_DIGITS = 12

const CR = 0x0d
const LF = 0x0a
const TAB = 0x09
const SEMICOLON = 0x3b
const SPACE = 0x20

/** Fields that may not stand behind a body (RFC 9110 section 6.5.1): framing, routing and fields that decide how the body is read. */
const FORBIDDEN_TRAILERS: ReadonlySet<string> = new Set([
  ...CONNECTION_FIELDS,
  'authorization',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'host',
  'location',
  'set-cookie',
])

/** Result of one decoding step. */
type ChunkStep =
  | { readonly kind: 'data'; readonly start: number; readonly end: number }
  /** `end`: where the message ends in the bytes given. */
  | { readonly kind: 'end'; readonly end: number; readonly trailers: HeaderList }
  | { readonly kind: 'more' }
  | { readonly kind: 'bad'; readonly problem: string }

const MORE = { kind: 'more' } as const

function bad(problem: string): ChunkStep {
  return { kind: 'bad', problem }
}

/**
 * Reads chunked framing (RFC 9112 section 7.1), strictly: sizes are hexadecimal digits and nothing else, lines end with CR LF,
 * extensions are skipped. One for each message.
 */
export class ChunkedDecoder {
  #state: 'size' | 'blank' | 'extension' | 'size-lf' | 'data' | 'data-cr' | 'data-lf' | 'trailers' = 'size'
  #size = 0
  #digits = 0
  #lineBytes = 0
  /** Trailer section so far, without its last line end. */
  #trailers = ''
  #position = 0

  /** Says where `next` begins in the bytes of its next calls. */
  rewind(): void {
    this.#position = 0
  }

  /** The next step in these bytes, after those that calls since `rewind` have passed. */
  next(bytes: Uint8Array): ChunkStep {
    while (this.#position < bytes.byteLength) {
      if (this.#state === 'data') return this.#data(bytes)
      if (this.#state === 'trailers') {
        const step = this.#trailer(bytes[this.#position++] ?? 0)
        if (step !== undefined) return step
        continue
      }
      const problem = this.#frame(bytes[this.#position++] ?? 0)
      if (problem !== undefined) return bad(problem)
    }
    return MORE
  }

  #data(bytes: Uint8Array): ChunkStep {
    const start = this.#position
    const end = Math.min(bytes.byteLength, start + this.#size)
    this.#size -= end - start
    this.#position = end
    if (this.#size === 0) this.#state = 'data-cr'
    return { kind: 'data', start, end }
  }

  #frame(code: number): string | undefined {
    switch (this.#state) {
      case 'size':
        return this.#sizeDigit(code)
      case 'blank':
        if (code === CR) this.#state = 'size-lf'
        else if (code === SEMICOLON) this.#state = 'extension'
        else if ((code !== SPACE && code !== TAB) || ++this.#lineBytes > MAX_LINE_BYTES) return 'a bad chunk size line'
        return undefined
      case 'extension':
        if (code === CR) this.#state = 'size-lf'
        else if ((code < SPACE && code !== TAB) || ++this.#lineBytes > MAX_LINE_BYTES) return 'a bad chunk extension'
        return undefined
      case 'size-lf':
        if (code !== LF) return 'a chunk size line without a line end'
        this.#state = this.#size === 0 ? 'trailers' : 'data'
        return undefined
      case 'data-cr':
        this.#state = 'data-lf'
        return code === CR ? undefined : 'a chunk that is longer than its size'
      default:
        this.#state = 'size'
        this.#digits = 0
        this.#lineBytes = 0
        return code === LF ? undefined : 'a chunk without a line end'
    }
  }

  #sizeDigit(code: number): string | undefined {
    const value = hexValue(code)
    if (value >= 0) {
      if (++this.#digits > MAX_SIZE_DIGITS) return 'a chunk size that is too long'
      this.#size = this.#size * 16 + value
      return undefined
    }
    if (this.#digits === 0) return 'a chunk without a size'
    if (code === CR) this.#state = 'size-lf'
    else if (code === SEMICOLON) this.#state = 'extension'
    else if (code === SPACE || code === TAB) this.#state = 'blank'
    else return 'an invalid chunk size'
    return undefined
  }

  #trailer(code: number): ChunkStep | undefined {
    this.#trailers += String.fromCharCode(code)
    if (this.#trailers.length > MAX_TRAILER_BYTES) return bad('a trailer section that is too long')
    if (code !== LF) return undefined
    if (this.#trailers === '\r\n') return { kind: 'end', end: this.#position, trailers: [] }
    if (!this.#trailers.endsWith('\r\n')) return bad('a trailer line without a line end')
    if (!this.#trailers.endsWith('\r\n\r\n')) return undefined
    const fields = parseFields(this.#trailers.slice(0, -4), 0)
    if ('problem' in fields) return bad(fields.problem)
    return { kind: 'end', end: this.#position, trailers: fields.filter(([name]) => !FORBIDDEN_TRAILERS.has(name)) }
  }
}
