import { encodeUtf8, encodeUtf8Into } from './utf8.ts'

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
