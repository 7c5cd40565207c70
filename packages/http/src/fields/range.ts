import { splitOutsideQuotes } from '../syntax/quoted-list.ts'

/** A part of a representation, both ends inclusive, in bytes. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** More ranges than this in one request are not honoured (RFC 9110 section 14.2): only attackers send more. */
const MAX_RANGES = 32
/** Ranges closer than this are sent as one: the head of a part costs about as much (RFC 9110 section 15.3.7.2). */
const MIN_GAP_BYTES = 80

/**
 * Parses a Range field for a representation of `size` bytes (RFC 9110 section 14.1.2). Ranges that overlap or nearly touch
 * come back as one, and then all in ascending order; else in the order asked for.
 * @returns the satisfiable ranges, at least one; `unsatisfiable` (416); `ignore` (200, as if there were no Range): another
 * unit, bad syntax, too many ranges, or an empty representation of which an end was asked for
 */
export function parseRange(value: string, size: number): readonly ByteRange[] | 'ignore' | 'unsatisfiable' {
  const match = /^bytes[\t ]*=(.*)$/i.exec(value)
  if (match?.[1] === undefined) return 'ignore'
  const specs = splitOutsideQuotes(match[1], ',')
  if (specs.length === 0 || specs.length > MAX_RANGES) return 'ignore'
  const ranges: ByteRange[] = []
  for (const spec of specs) {
    const range = parseSpec(spec, size)
    if (range === 'invalid') return 'ignore'
    if (range !== undefined) ranges.push(range)
  }
  if (ranges.length > 0) return coalesced(ranges)
  return size === 0 && specs.some((spec) => /^-0*[1-9]/.test(spec)) ? 'ignore' : 'unsatisfiable'
}

/** Content-Range of a part (RFC 9110 section 14.4). */
export function contentRange(range: ByteRange, size: number): string {
  return `bytes ${range.start}-${range.end}/${size}`
}

/** Content-Range of a 416 response. */
export function unsatisfiedContentRange(size: number): string {
  return `bytes */${size}`
}

/** Number of bytes in a range. */
export function rangeLength(range: ByteRange): number {
  return range.end - range.start + 1
}

function parseSpec(spec: string, size: number): ByteRange | 'invalid' | undefined {
  const match = /^(\d*)-(\d*)$/.exec(spec)
  const [, first = '', last = ''] = match ?? []
  if (first === '' && last === '') return 'invalid'
  if (first === '')
    return size === 0 || Number(last) === 0 ? undefined : { start: Math.max(0, size - Number(last)), end: size - 1 }
  if (last !== '' && Number(last) < Number(first)) return 'invalid'
  if (Number(first) >= size) return undefined
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

function coalesced(ranges: readonly ByteRange[]): readonly ByteRange[] {
  const sorted = [...ranges].sort((a, b) => a.start - b.start)
  const merged: ByteRange[] = []
  for (const range of sorted) {
    const previous = merged.at(-1)
    if (previous === undefined || range.start - previous.end > MIN_GAP_BYTES) merged.push(range)
    else merged[merged.length - 1] = { start: previous.start, end: Math.max(previous.end, range.end) }
  }
  return merged.length === ranges.length ? ranges : merged
}

/** A `multipart/byteranges` body: for each part its head, then the bytes of its range; then the tail. */
interface MultipartPlan {
  readonly contentType: string
  /** Length of the whole body in bytes. */
  readonly length: number
  readonly parts: ReadonlyArray<{ readonly head: Uint8Array; readonly range: ByteRange }>
  readonly tail: Uint8Array
}

/**
 * Lays out the body of a 206 response with several ranges (RFC 9110 section 15.3.7.2).
 * @param contentType of the representation; "": unknown
 * @param boundary random, so that the content cannot hold it
 */
export function planMultipart(ranges: readonly ByteRange[], size: number, contentType: string, boundary: string): MultipartPlan {
  const type = contentType === '' ? '' : `Content-Type: ${contentType}\r\n`
  const parts = ranges.map((range, index) => ({
    head: Buffer.from(
      `${index === 0 ? '' : '\r\n'}--${boundary}\r\n${type}Content-Range: ${contentRange(range, size)}\r\n\r\n`,
      'latin1',
    ),
    range,
  }))
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1')
  const length = parts.reduce((sum, part) => sum + part.head.byteLength + rangeLength(part.range), tail.byteLength)
  return { contentType: `multipart/byteranges; boundary=${boundary}`, length, parts, tail }
}
