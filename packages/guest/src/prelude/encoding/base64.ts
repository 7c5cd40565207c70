import { toBase64 } from '@exodus/bytes/base64.js'
import { DOMException } from '../events/dom-exception.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** Value of a character code; 64 for padding, 255 for what does not belong to base64 (either alphabet does). */
const values = new Uint8Array(256).fill(255)
for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i
values['-'.charCodeAt(0)] = 62
values['_'.charCodeAt(0)] = 63

/** Decodes either alphabet and skips what does not belong to it, as `Buffer` does. Stops at padding. */
export function decodeBase64Loose(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4))
  let length = 0
  let bits = 0
  let held = 0
  for (let i = 0; i < text.length && text[i] !== '='; i++) {
    const code = text.charCodeAt(i)
    const value = code < 256 ? (values[code] as number) : 255
    if (value > 63) continue
    held = (held << 6) | value
    bits += 6
    if (bits < 8) continue
    bits -= 8
    bytes[length++] = (held >> bits) & 255
  }
  return bytes.slice(0, length)
}

/** HTML `atob`. Throws InvalidCharacterError for anything but base64 (forgiving: white space and missing padding are fine). */
export function atob(data: unknown): string {
  let text = String(data).replace(/[\t\n\f\r ]+/g, '')
  if (text.length % 4 === 0) text = text.replace(/={1,2}$/, '')
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) {
    throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError')
  }
  let binary = ''
  for (const byte of decodeBase64Loose(text)) binary += String.fromCharCode(byte)
  return binary
}

/** HTML `btoa`. Throws InvalidCharacterError for characters over U+00FF. */
export function btoa(data: unknown): string {
  const text = String(data)
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 255) throw new DOMException('Invalid character', 'InvalidCharacterError')
    bytes[i] = code
  }
  return toBase64(bytes)
}
