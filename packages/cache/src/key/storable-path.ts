import { isCacheSafePath } from '@svc/http'

/**
 * The path part of a key for a normalised path. Undefined when no layer may store a response for it: with an escaped slash,
 * backslash or NUL in it, which backends and file systems read differently.
 */
export function storablePath(path: string): string | undefined {
  return isCacheSafePath(path) ? path : undefined
}
