import type { HttpResponse } from 'uWebSockets.js'
import type { ReadyResponse } from '../exchange/ready-responses.ts'

/**
 * Writes a ready response within the handler of its request, where everything is corked already. The connection goes on behind it.
 * @returns whether it has been handed over whole; if not, the client takes its body slowly
 */
export function writeReady(res: HttpResponse, { head, body, length }: ReadyResponse): boolean {
  res.writeStatus(head.bytes)
  if (body === undefined) {
    if (length !== '') res.writeHeader('Content-Length', length)
    res.endWithoutBody()
    return true
  }
  // Not `end`: it keeps for a client that reads nothing whatever it is given, one answer behind the other.
  return res.tryEnd(body, body.byteLength)[1]
}
