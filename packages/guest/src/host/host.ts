import type { HostCallbacks } from '../contract/isolate.ts'
import { GuestError } from './errors.ts'

let callbacks: HostCallbacks | undefined

/** Takes the host's callbacks. They exist only after the snapshot, so nothing may ask for them before. */
export function installHost(given: HostCallbacks): void {
  callbacks = given
}

/** Returns the host's callbacks. Throws GUEST_MISUSE while the snapshot is made. */
export function host(): HostCallbacks {
  if (callbacks === undefined) throw new GuestError('GUEST_MISUSE', 'the host is not there yet')
  return callbacks
}
