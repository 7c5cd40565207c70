import type { GuestSettings } from '../contract/isolate.ts'

let settings: GuestSettings = { site: '', mode: 'production', env: {} }

/** Returns what the host told about the site. */
export function guestSettings(): GuestSettings {
  return settings
}

/** Sets what the host told about the site. */
export function setGuestSettings(next: GuestSettings): void {
  settings = next
}
