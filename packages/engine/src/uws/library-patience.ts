import type { HttpResponse } from 'uWebSockets.js'

const RENEW_MS = 3_000

/**
 * Keeps the library from cutting a client that takes nothing of its answer: it would after some ten seconds. To be called often, for a
 * request that has come whole. Times in ms of the monotonic clock.
 * @returns when it is to be done again, for the next call
 */
export function renewPatience(res: HttpResponse, now: number, renewAt: number): number {
  if (now < renewAt) return renewAt
  // The second of them starts the timer of the connection anew.
  res.pause()
  res.resume()
  return now + RENEW_MS
}
