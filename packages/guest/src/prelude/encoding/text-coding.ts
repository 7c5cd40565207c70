import { bytesOf, concatBytes, decodeWindows1252 } from './bytes.ts'
import { encodeUtf8, encodeUtf8Into, Utf8Decoder } from './utf8.ts'

/** Encoding standard `TextEncoder`: UTF-8 only. */
export class TextEncoder {
  get encoding(): string {
    return 'utf-8'
  }

  encode(text: unknown = ''): Uint8Array<ArrayBuffer> {
    return encodeUtf8(String(text))
  }

  encodeInto(text: unknown, target: Uint8Array): { read: number; written: number } {
    return encodeUtf8Into(String(text), target)
  }

  get [Symbol.toStringTag](): string {
    return 'TextEncoder'
  }
}

type EncodingName = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'

const labelsOf: Readonly<Record<EncodingName, string>> = {
  'utf-8': 'unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8',
  'utf-16le': 'csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le',
  'utf-16be': 'unicodefffe utf-16be',
  'windows-1252': `ansi_x3.4-1968 ascii cp1252 cp819 iso-8859-1 iso8859-1 iso88591 iso_8859-1 l1 latin1 us-ascii windows-1252
    x-cp1252`,
}
const labels = new Map(
  Object.entries(labelsOf).flatMap(([name, text]) => text.split(/\s+/).map((label) => [label, name as EncodingName])),
)

interface ByteDecoder {
  write(bytes: Uint8Array): string
  end(): string
}

class Utf16Decoder implements ByteDecoder {
  readonly #isFatal: boolean
  readonly #isBigEndian: boolean
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array(0)
  #lead = ''

  constructor(isFatal: boolean, isBigEndian: boolean) {
    this.#isFatal = isFatal
    this.#isBigEndian = isBigEndian
  }

  write(bytes: Uint8Array): string {
    const all = concatBytes([this.#rest, bytes])
    const view = new DataView(all.buffer)
    const evenLength = all.length & ~1
    let text = this.#lead
    for (let i = 0; i < evenLength; i += 2) text += String.fromCharCode(view.getUint16(i, !this.#isBigEndian))
    this.#rest = all.slice(evenLength)
    const isLead = (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
    this.#lead = isLead ? text.slice(-1) : ''
    return this.#checked(isLead ? text.slice(0, -1) : text)
  }

  end(): string {
    const isCut = this.#rest.length > 0 || this.#lead !== ''
    if (isCut && this.#isFatal) throw new TypeError('The encoded data was not valid for encoding utf-16')
    return isCut ? '\ufffd' : ''
  }

  #checked(text: string): string {
    if (text.isWellFormed()) return text
    if (this.#isFatal) throw new TypeError('The encoded data was not valid for encoding utf-16')
    return text.toWellFormed()
  }
}

function decoderFor(encoding: EncodingName, isFatal: boolean): ByteDecoder {
  switch (encoding) {
    case 'utf-8':
      return new Utf8Decoder(isFatal)
    case 'utf-16le':
    case 'utf-16be':
      return new Utf16Decoder(isFatal, encoding === 'utf-16be')
    case 'windows-1252':
      return { write: decodeWindows1252, end: () => '' }
  }
}

/** Encoding standard `TextDecoder` for utf-8, utf-16le, utf-16be and latin1. Throws RangeError for other labels. */
export class TextDecoder {
  readonly encoding: string
  readonly fatal: boolean
  readonly ignoreBOM: boolean
  readonly #name: EncodingName
  #decoder: ByteDecoder | undefined
  #isMarkSeen = false

  constructor(label: unknown = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const name = labels.get(String(label).trim().toLowerCase())
    if (name === undefined) throw new RangeError(`The "${String(label)}" encoding is not supported`)
    this.#name = name
    this.encoding = name
    this.fatal = Boolean(options?.fatal)
    this.ignoreBOM = Boolean(options?.ignoreBOM)
  }

  decode(input?: unknown, options: { stream?: boolean } = {}): string {
    const decoder = this.#decoder ?? decoderFor(this.#name, this.fatal)
    const bytes = input === undefined ? new Uint8Array(0) : bytesOf(input)
    const isStream = Boolean(options?.stream)
    this.#decoder = isStream ? decoder : undefined
    const text = this.#withoutMark(decoder.write(bytes) + (isStream ? '' : decoder.end()))
    if (!isStream) this.#isMarkSeen = false
    return text
  }

  #withoutMark(text: string): string {
    if (this.#isMarkSeen || text === '') return text
    this.#isMarkSeen = true
    return !this.ignoreBOM && this.#name !== 'windows-1252' && text.startsWith('\ufeff') ? text.slice(1) : text
  }

  get [Symbol.toStringTag](): string {
    return 'TextDecoder'
  }
}
