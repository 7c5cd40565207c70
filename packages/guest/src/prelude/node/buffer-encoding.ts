import { toBase64, toBase64url } from '@exodus/bytes/base64.js'
import { toHex } from '@exodus/bytes/hex.js'
import { latin1toString } from '@exodus/bytes/single-byte.js'
import { utf8toStringLoose } from '@exodus/bytes/utf8.js'
import { decodeBase64Loose } from '../encoding/base64.ts'
import { encodeUtf8 } from '../encoding/bytes.ts'

/** Names that Node's Buffer knows, and what they mean. */
const canonical: Readonly<Record<string, BufferEncoding>> = {
  utf8: 'utf8',
  'utf-8': 'utf8',
  hex: 'hex',
  base64: 'base64',
  base64url: 'base64url',
  latin1: 'latin1',
  binary: 'latin1',
  ascii: 'ascii',
  utf16le: 'utf16le',
  'utf-16le': 'utf16le',
  ucs2: 'utf16le',
  'ucs-2': 'utf16le',
}

type BufferEncoding = 'utf8' | 'hex' | 'base64' | 'base64url' | 'latin1' | 'ascii' | 'utf16le'

/** Returns the encoding that a name means, or undefined. */
export function encodingOf(name: unknown): BufferEncoding | undefined {
  if (name === undefined || name === null || name === '') return 'utf8'
  const text = String(name).toLowerCase()
  return Object.hasOwn(canonical, text) ? canonical[text] : undefined
}

/** Returns the encoding that a name means. Throws TypeError for an unknown one. */
export function knownEncoding(name: unknown): BufferEncoding {
  const encoding = encodingOf(name)
  if (encoding === undefined) throw new TypeError(`Unknown encoding: ${String(name)}`)
  return encoding
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length >> 1)
  for (let i = 0; i < bytes.length; i++) {
    const pair = text.slice(i * 2, i * 2 + 2)
    // Node stops at the first pair that is no hexadecimal number.
    if (!/^[0-9a-f]{2}$/i.test(pair)) return bytes.slice(0, i)
    bytes[i] = Number.parseInt(pair, 16)
  }
  return bytes
}

function fromUnits(text: string, bytesPerUnit: 1 | 2): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * bytesPerUnit)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    bytes[i * bytesPerUnit] = unit & 255
    if (bytesPerUnit === 2) bytes[i * 2 + 1] = unit >> 8
  }
  return bytes
}

/** Turns text into bytes. */
export function encodeText(text: string, encoding: BufferEncoding): Uint8Array {
  switch (encoding) {
    case 'utf8':
      return encodeUtf8(text)
    case 'hex':
      return fromHex(text)
    case 'base64':
    case 'base64url':
      return decodeBase64Loose(text)
    case 'latin1':
    case 'ascii':
      return fromUnits(text, 1)
    case 'utf16le':
      return fromUnits(text, 2)
  }
}

/** Turns bytes into text. */
export function decodeText(bytes: Uint8Array, encoding: BufferEncoding): string {
  switch (encoding) {
    case 'utf8':
      return utf8toStringLoose(bytes)
    case 'hex':
      return toHex(bytes)
    case 'base64':
      return toBase64(bytes)
    case 'base64url':
      return toBase64url(bytes)
    case 'latin1':
      return latin1toString(bytes)
    case 'ascii':
      return latin1toString(bytes.map((byte) => byte & 127))
    case 'utf16le': {
      let text = ''
      for (let i = 0; i + 1 < bytes.length; i += 2)
        text += String.fromCharCode((bytes[i] as number) | ((bytes[i + 1] as number) << 8))
      return text
    }
  }
}
