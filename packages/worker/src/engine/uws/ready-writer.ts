import type { HttpResponse } from 'uWebSockets.js'
import type { ReadyResponse } from '../ready-responses.ts'

/**
 * Writes a ready response within the handler of its request, where everything is corked already.
 * @param closes whether the library closes the connection behind it: the client is told
 * @returns whether it has been handed over whole; if not, the client takes its body slowly
 */
export function writeReady(res: HttpResponse, { head, body, length }: ReadyResponse, closes: boolean): boolean {
  res.writeStatus(head.bytes)
  if (closes) res.writeHeader('Connection', 'close')
  if (body === undefined) {
    if (length !== '') res.writeHeader('Content-Length', length)
    res.endWithoutBody()
    return true
  }
  // Not `end`: it keeps for a client that reads nothing whatever it is given, one answer behind the other.
  return res.tryEnd(body, body.byteLength)[1]
}
