import { currentContext } from '../context/context.ts'
import type { GuestRequest } from './guest-request.ts'

/** Returns the request that the running code works for; undefined outside of requests. */
export function currentRequest(): GuestRequest | undefined {
  // Only `RunningRequest` makes contexts with an owner.
  return currentContext()?.request as GuestRequest | undefined
}
