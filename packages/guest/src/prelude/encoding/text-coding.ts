import { TextDecoder as AnyDecoder, normalizeEncoding } from '@exodus/bytes/encoding-lite.js'

export { TextDecoderStream, TextEncoder, TextEncoderStream } from '@exodus/bytes/encoding-lite.js'

/** Encodings whose tables the guest leaves out: together they are larger than all other text coding. */
const leftOut = new Set(['big5', 'euc-jp', 'euc-kr', 'gb18030', 'gbk', 'iso-2022-jp', 'shift_jis'])

/** Encoding standard `TextDecoder`, without the legacy encodings of several bytes. Throws RangeError for those and for unknown labels. */
export class TextDecoder extends AnyDecoder {
  constructor(label: unknown = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const text = String(label)
    if (leftOut.has(normalizeEncoding(text) ?? '')) throw new RangeError(`The "${text}" encoding is not supported`)
    super(text, options ?? {})
  }
}
