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

/** Characters of windows-1252 at 0x80-0x9F; the rest equals the byte (Encoding standard, index windows-1252). */
const upper =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178'

/** Decodes windows-1252, which is what the labels latin1 and ascii mean on the web. */
export function decodeWindows1252(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte >= 0x80 && byte < 0xa0 ? upper.charAt(byte - 0x80) : String.fromCharCode(byte)
  return text
}

/** Decodes bytes as the characters of their number (ISO 8859-1 proper). */
export function decodeLatin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}
