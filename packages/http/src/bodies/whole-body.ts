import type { RequestBody } from '../exchange/http-exchange.ts'

/** A request body that is there as a whole. */
export function wholeBody(bytes: Uint8Array): RequestBody {
  return {
    isPresent: true,
    length: bytes.byteLength,
    read(onChunk, onEnd) {
      onChunk(bytes, () => undefined)
      onEnd(undefined)
    },
  }
}
