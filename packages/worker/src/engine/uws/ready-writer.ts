import type { HttpResponse } from 'uWebSockets.js'
import type { ReadyResponse } from '../ready-responses.ts'
import { MAX_SINGLE_BYTES } from './single-write.ts'

/**
 * Writes a ready response within the handler of its request, where everything is corked already.
 * @returns whether it has been handed over whole; if not, the client takes its body slowly
 */
export function writeReady(res: HttpResponse, { block, body, length }: ReadyResponse): boolean {
  if (block.status !== 200) res.writeStatus(block.statusLine)
  if (block.name.length > 0) res.writeHeader(block.name, block.rest)
  if (body === undefined) {
    if (length !== '') res.writeHeader('Content-Length', length)
    res.endWithoutBody()
    return true
  }
  if (body.byteLength <= MAX_SINGLE_BYTES) {
    res.end(body)
    return true
  }
  return res.tryEnd(body, body.byteLength)[1]
}
