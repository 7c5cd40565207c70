import { hexValue, isPathCharacter, isQueryCharacter, isUnreserved } from '../syntax/characters.ts'

/** An origin-form request target taken apart (RFC 9112 section 3.2.1). */
export interface ParsedTarget {
  /** Path as sent. */
  readonly rawPath: string
  /** Query as sent, without "?"; "" when there is none. */
  readonly query: string
  /** The normalised path, see `normalizePath`. */
  readonly path: string
}

/** Why a target is refused. All of them are answered with status 400. */
type TargetError =
  /** Not a path: absolute form, `*`, an authority, or empty. */
  | 'target_not_origin_form'
  /** A control character, space, `#`, a byte over 0x7e, or a backslash in the path. */
  | 'target_bad_character'
  /** A `%` in the path that two hexadecimal digits do not follow. */
  | 'target_bad_escape'

const SLASH = 0x2f
const DOT = 0x2e
const PERCENT = 0x25
const QUESTION = 0x3f

/**
 * Takes an origin-form target apart and normalises its path. Costs one scan and two substrings when it is normal already.
 * The error is a string, so `typeof result === 'string'` tells the two apart.
 */
export function parseTarget(target: string): ParsedTarget | TargetError {
  if (target.charCodeAt(0) !== SLASH) return 'target_not_origin_form'
  let end = 0
  while (end < target.length && target.charCodeAt(end) !== QUESTION) end++
  const rawPath = end === target.length ? target : target.slice(0, end)
  const path = normalizePath(rawPath)
  if (path === undefined) return faultOf(rawPath)
  for (let i = end + 1; i < target.length; i++) if (!isQueryCharacter(target.charCodeAt(i))) return 'target_bad_character'
  return { rawPath, query: target.slice(end + 1), path }
}

/**
 * Normalises a path that begins with "/" (RFC 3986 section 6.2.2): escapes of unreserved characters are decoded, the digits
 * of others upper-cased, runs of "/" merged, and then dot segments removed, without ever leaving the root. Escaped dots count
 * as dots; an escaped slash stays an escaped slash. Like nginx, slashes are merged first: `/a//../b` is `/b`. Undefined when
 * it is no path or holds a character or an escape that is not allowed.
 */
export function normalizePath(path: string): string | undefined {
  if (path.charCodeAt(0) !== SLASH) return undefined
  let previous = 0
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (!isPathCharacter(code)) return undefined
    if (code === PERCENT || (previous === SLASH && (code === SLASH || code === DOT))) return rebuilt(path)
    previous = code
  }
  return path
}

/**
 * Returns true if a response for this normalised path may be stored: not with an escaped slash, backslash or NUL in it, which
 * backends and file systems read differently.
 */
export function isCacheSafePath(path: string): boolean {
  for (let at = path.indexOf('%'); at !== -1; at = path.indexOf('%', at + 1)) {
    const code = hexValue(path.charCodeAt(at + 1)) * 16 + hexValue(path.charCodeAt(at + 2))
    if (code === SLASH || code === 0x5c || code === 0) return false
  }
  return !path.includes('\\')
}

function faultOf(path: string): TargetError {
  for (let i = 0; i < path.length; i++) if (!isPathCharacter(path.charCodeAt(i))) return 'target_bad_character'
  return 'target_bad_escape'
}

function rebuilt(path: string): string | undefined {
  const decoded = decodeUnreserved(path)
  if (decoded === undefined) return undefined
  const kept: string[] = []
  let isDirectory = false
  for (const segment of decoded.split('/')) {
    isDirectory = segment === '' || segment === '.' || segment === '..'
    if (segment === '..') kept.pop()
    else if (!isDirectory) kept.push(segment)
  }
  if (kept.length === 0) return '/'
  return isDirectory ? `/${kept.join('/')}/` : `/${kept.join('/')}`
}

/** Decodes escapes of unreserved characters and upper-cases the others. */
function decodeUnreserved(path: string): string | undefined {
  let result = ''
  let copied = 0
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (!isPathCharacter(code)) return undefined
    if (code !== PERCENT) continue
    const high = hexValue(path.charCodeAt(i + 1))
    const low = hexValue(path.charCodeAt(i + 2))
    if (high === -1 || low === -1) return undefined
    const value = high * 16 + low
    result += path.slice(copied, i)
    result += isUnreserved(value) ? String.fromCharCode(value) : path.slice(i, i + 3).toUpperCase()
    i += 2
    copied = i + 1
  }
  return result + path.slice(copied)
}
