import { createHash } from 'node:crypto'
import { isCacheSafePath } from '@svc/http'
import type { Variance } from '../entries/entry.ts'

/** Stands between parts: no label, path, query or host can hold it. */
const SEPARATOR = '\0'
/** Longer keys are replaced by a digest: stores bound the length of theirs. */
const MAX_KEY_CHARS = 1024

/**
 * The key of a response: label and path, then query and host as far as the response depends on them. Keys of one label begin
 * with it and a NUL. A query that is part of the key is never equal to a key without query, even when it is empty.
 */
export function responseKey(label: string, path: string, variance: Variance, query: string, host: string): string {
  const parts = [label, path, variance.query ? `?${query}` : '', variance.host ? `@${host}` : '']
  const key = parts.join(SEPARATOR)
  return key.length <= MAX_KEY_CHARS ? key : [label, digest(parts)].join(SEPARATOR)
}

/** The key of data of site code: a digest of its parts, which may be of any length and hold anything. */
export function dataKey(label: string, ...parts: readonly string[]): string {
  return [label, 'data', digest(parts)].join(SEPARATOR)
}

/** The lengths go in too, so that no two lists of parts read the same. */
function digest(parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = Buffer.from(part)
    hash.update(`${bytes.byteLength}:`).update(bytes)
  }
  return hash.digest('base64url')
}

/**
 * The path part of a key for a normalised path. Undefined when no layer may store a response for it: with an escaped slash,
 * backslash or NUL in it, which backends and file systems read differently.
 */
export function storablePath(path: string): string | undefined {
  return isCacheSafePath(path) ? path : undefined
}
