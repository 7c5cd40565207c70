import { hexValue } from '../syntax/characters.ts'

/** The path of a request as vhosts read it. One character for each byte (latin-1). */
interface DecodedPath {
  /** Escapes decoded, runs of "/" merged, dot segments removed. */
  readonly path: string
  /** True if escapes or a plus sign stood in it: parts of it are escaped again where they go into a URL. */
  readonly isQuoted: boolean
}

const SLASH = 0x2f
const DOT = 0x2e
const PERCENT = 0x25
const PLUS = 0x2b

/**
 * Decodes a path as sent, as nginx does: an escaped slash or dot counts as one. Undefined where nginx refuses it with 400: an
 * escape of NUL or one without digits, or dot segments that lead above the root. Costs one scan when there is nothing to do.
 */
export function decodePath(rawPath: string): DecodedPath | undefined {
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
  const path = decoded === undefined ? undefined : withoutDotSegments(decoded)
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

/** Slashes are merged first: `/a//../b` is `/b`. */
function withoutDotSegments(path: string): string | undefined {
  const kept: string[] = []
  let isDirectory = false
  for (const segment of path.split('/')) {
    isDirectory = segment === '' || segment === '.' || segment === '..'
    if (segment === '..') {
      if (kept.pop() === undefined) return undefined
    } else if (!isDirectory) kept.push(segment)
  }
  if (kept.length === 0) return '/'
  return isDirectory ? `/${kept.join('/')}/` : `/${kept.join('/')}`
}

/** `.ext` of the last segment without its dot, "" without one; a name that only begins with a dot has none. */
export function extensionOf(path: string): string {
  const dot = path.lastIndexOf('.')
  return dot > path.lastIndexOf('/') + 1 ? path.slice(dot + 1) : ''
}
