import type { CompleteResponse, ResponseHead } from '@svc/http'
import { type CodedRequest, chooseCoding, codedHead, withVary } from './coding-choice.ts'
import { type Encode, encodeWhole, type RealCoding } from './encoders.ts'

/** Smaller bodies are sent as they are: they fit into one packet either way. */
const MIN_BYTES = 1024

/**
 * Compresses a complete response as its request accepts. Answers at once when there is nothing to compress. For HEAD pass the
 * body as for GET, so that the fields are the same. A body that does not get smaller is sent as it is. `encode` may know it
 * compressed already.
 */
export function compressComplete(
  request: CodedRequest,
  head: ResponseHead,
  body: Uint8Array,
  encode: Encode = encodeWhole,
): CompleteResponse | Promise<CompleteResponse> {
  const coding = body.byteLength < MIN_BYTES ? undefined : chooseCoding(request, head)
  if (coding === undefined) return { head, body }
  if (coding === 'identity') return { head: withVary(head), body }
  return encode(coding, body).then((smaller) => smallest(coding, head, body, smaller))
}

function smallest(coding: RealCoding, head: ResponseHead, body: Uint8Array, encoded: Uint8Array): CompleteResponse {
  if (encoded.byteLength >= body.byteLength) return { head: withVary(head), body }
  return { head: codedHead(head, coding), body: encoded }
}
