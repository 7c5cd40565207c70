import { type ByteRange, contentRange, rangeLength } from './range.ts'

/** A `multipart/byteranges` body: for each part its head, then the bytes of its range; then the tail. */
export interface MultipartPlan {
  readonly contentType: string
  /** Length of the whole body in bytes. */
  readonly length: number
  readonly parts: ReadonlyArray<{ readonly head: Uint8Array; readonly range: ByteRange }>
  readonly tail: Uint8Array
}

/**
 * Lays out the body of a 206 response with several ranges (RFC 9110 section 15.3.7.2).
 * @param contentType of the representation
 * @param boundary random, so that the content cannot hold it
 */
export function planMultipart(ranges: readonly ByteRange[], size: number, contentType: string, boundary: string): MultipartPlan {
  const parts = ranges.map((range, index) => ({
    head: Buffer.from(
      `${index === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Type: ${contentType}\r\nContent-Range: ${contentRange(range, size)}\r\n\r\n`,
      'latin1',
    ),
    range,
  }))
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1')
  const length = parts.reduce((sum, part) => sum + part.head.byteLength + rangeLength(part.range), tail.byteLength)
  return { contentType: `multipart/byteranges; boundary=${boundary}`, length, parts, tail }
}
