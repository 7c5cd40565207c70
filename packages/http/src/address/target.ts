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
  return decoded === undefined ? undefined : withoutDotSegments(decoded, true)
}

/**
 * Merges slashes first, unless they are kept: `/a//../b` is `/b`, or else `/a/b`. Undefined for dot segments above the root, unless
 * those stay at the root.
 */
function withoutDotSegments(path: string, staysAtRoot: boolean, mergesSlashes = true): string | undefined {
  const kept: string[] = []
  let isDirectory = false
  const [, ...segments] = path.split('/')
  for (const [index, segment] of segments.entries()) {
    isDirectory = segment === '' || segment === '.' || segment === '..'
    if (segment === '..') {
      if (kept.pop() === undefined && !staysAtRoot) return undefined
    } else if (!isDirectory || (segment === '' && !mergesSlashes && index < segments.length - 1)) kept.push(segment)
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

/** The path of a request as vhosts read it. One character for each byte (latin-1). */
interface DecodedPath {
  /** Escapes decoded, runs of "/" merged unless they are kept, dot segments removed. */
  readonly path: string
  /** True if escapes or a plus sign stood in it: parts of it are escaped again where they go into a URL. */
  readonly isQuoted: boolean
}

const PLUS = 0x2b

/**
 * Decodes a path as sent, as nginx does: an escaped slash or dot counts as one. Undefined where nginx refuses it with 400: an
 * escape of NUL or one without digits, or dot segments that lead above the root. Costs one scan when there is nothing to do.
 */
export function decodePath(rawPath: string, mergesSlashes = true): DecodedPath | undefined {
  let isPlain = rawPath.charCodeAt(0) === SLASH
  let isQuoted = false
  let previous = 0
  for (let i = 0; i < rawPath.length; i++) {
    const code = rawPath.charCodeAt(i)
    if (code === PERCENT) {
      isPlain = false
      isQuoted = true
    } else if (code === PLUS) isQuoted = true
    else if (previous === SLASH && (code === SLASH || code === DOT)) isPlain = false
    previous = code
  }
  if (isPlain) return { path: rawPath, isQuoted }
  const decoded = decodeEscapes(rawPath)
  const path = decoded === undefined ? undefined : withoutDotSegments(decoded, false, mergesSlashes)
  return path === undefined ? undefined : { path, isQuoted }
}

function decodeEscapes(text: string): string | undefined {
  let result = ''
  let copied = 0
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', at + 3)) {
    const high = hexValue(text.charCodeAt(at + 1))
    const low = hexValue(text.charCodeAt(at + 2))
    if (high === -1 || low === -1 || high + low === 0) return undefined
    result += text.slice(copied, at) + String.fromCharCode(high * 16 + low)
    copied = at + 3
  }
  return result + text.slice(copied)
}

/** `.ext` of the last segment without its dot, "" without one; a name that only begins with a dot has none. */
export function extensionOf(path: string): string {
  const dot = path.lastIndexOf('.')
  return dot > path.lastIndexOf('/') + 1 ? path.slice(dot + 1) : ''
}
