import type { GuestSettings, HostCallbacks } from '../contract/isolate.ts'

/** Codes of errors that the guest itself raises towards a site's code. */
type GuestErrorCode =
  /** A specifier that could not be resolved, or a module that was never defined. */
  | 'MODULE_NOT_FOUND'
  /** No runner for a kind of request: the bundle is incomplete. */
  | 'GUEST_NO_RUNNER'
  /** The host called something out of order. */
  | 'GUEST_MISUSE'

/** An error of the guest. `code` is what Node's loaders use where there is such a thing. */
export class GuestError extends Error {
  readonly code: GuestErrorCode

  constructor(code: GuestErrorCode, message: string) {
    super(message)
    this.name = 'Error'
    this.code = code
  }
}

let callbacks: HostCallbacks | undefined

/** Takes the host's callbacks. They exist only after the snapshot, so nothing may ask for them before. */
export function installHost(given: HostCallbacks): void {
  callbacks = given
}

/** Returns the host's callbacks. Throws GUEST_MISUSE while the snapshot is made. */
export function host(): HostCallbacks {
  if (callbacks === undefined) throw new GuestError('GUEST_MISUSE', 'the callbacks of the host are not installed yet')
  return callbacks
}

let settings: GuestSettings = { site: '', mode: 'production', env: {} }

/** Returns the settings of the site. */
export function guestSettings(): GuestSettings {
  return settings
}

/** Sets the settings of the site. */
export function setGuestSettings(next: GuestSettings): void {
  settings = next
}
