import { TextDecoder } from '../encoding/text-coding.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'

export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from 'web-streams-polyfill'

/** Encoding standard `TextEncoderStream`: text in, UTF-8 out. A pair of surrogates may be split over two pieces. */
export class TextEncoderStream {
  readonly encoding = 'utf-8'
  readonly readable: unknown
  readonly writable: unknown

  constructor() {
    let lead = ''
    const stream = new TransformStream<unknown, Uint8Array>({
      transform(piece, controller) {
        const text = lead + String(piece)
        const isSplit = (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
        lead = isSplit ? text.slice(-1) : ''
        const whole = isSplit ? text.slice(0, -1) : text
        if (whole !== '') controller.enqueue(encodeUtf8(whole))
      },
      flush(controller) {
        if (lead !== '') controller.enqueue(encodeUtf8(lead))
      },
    })
    this.readable = stream.readable
    this.writable = stream.writable
  }
}

/** Encoding standard `TextDecoderStream`: bytes in, text out. */
export class TextDecoderStream {
  readonly encoding: string
  readonly fatal: boolean
  readonly ignoreBOM: boolean
  readonly readable: unknown
  readonly writable: unknown

  constructor(label?: string, options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const decoder = new TextDecoder(label, options)
    const stream = new TransformStream<unknown, string>({
      transform(piece, controller) {
        const text = decoder.decode(piece, { stream: true })
        if (text !== '') controller.enqueue(text)
      },
      flush(controller) {
        const text = decoder.decode()
        if (text !== '') controller.enqueue(text)
      },
    })
    this.encoding = decoder.encoding
    this.fatal = decoder.fatal
    this.ignoreBOM = decoder.ignoreBOM
    this.readable = stream.readable
    this.writable = stream.writable
  }
}
