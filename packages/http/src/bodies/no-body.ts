import type { RequestBody } from '../exchange/http-exchange.ts'

/** The body of a request without one. */
export const noBody: RequestBody = Object.freeze({
  isPresent: false,
  length: undefined,
  read: (_onChunk: (chunk: Uint8Array, ack: () => void) => void, onEnd: (error: Error | undefined) => void) => onEnd(undefined),
})
