import { utf8fromStringLoose, utf8toStringLoose } from '@exodus/bytes/utf8.js'

/** Anything that holds bytes. */
type BufferSource = ArrayBuffer | ArrayBufferView

/** True if a value is an ArrayBuffer or a view of one. */
export function isBufferSource(value: unknown): value is BufferSource {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value)
}

/** Returns the bytes behind a buffer or view, not copied. Throws TypeError for anything else. */
export function bytesOf(source: unknown): Uint8Array<ArrayBuffer> {
  if (source instanceof ArrayBuffer) return new Uint8Array(source)
  if (!ArrayBuffer.isView(source)) throw new TypeError('The value must be an ArrayBuffer or a view of one')
  return new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength)
}

/** Returns an ArrayBuffer with exactly these bytes; copies unless the view covers its buffer. */
export function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = bytes
  if (byteOffset === 0 && byteLength === buffer.byteLength) return buffer as ArrayBuffer
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
}

/** Joins pieces. */
export function concatBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.byteLength
  }
  return joined
}

/** Encodes text as UTF-8; lone surrogates become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return utf8fromStringLoose(text)
}

/** Decodes UTF-8 without a byte order mark, replacing what is malformed (the standard's "UTF-8 decode"). */
export function decodeUtf8(bytes: Uint8Array): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return utf8toStringLoose(hasMark ? bytes.subarray(3) : bytes)
}
