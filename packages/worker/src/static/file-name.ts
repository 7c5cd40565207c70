/** The only name with a dot at its beginning that is served (RFC 8615), and only at the root. */
const WELL_KNOWN = '.well-known'

/**
 * Turns a normalised URL path into a file name relative to a root, e.g. "/a/b%20c" into "a/b c"; "" is the root itself, and a
 * name of a directory ends in "/". Undefined for what is never served: hidden names, escapes of "/", "\" and NUL, dot
 * segments, and escapes that are no UTF-8.
 */
export function fileNameOf(path: string): string | undefined {
  const name = path.includes('%') ? decoded(path.slice(1)) : path.slice(1)
  if (name === undefined || name.includes('\\')) return undefined
  return hasHiddenSegment(name) ? undefined : name
}

/** Whether a segment begins with a dot, but for `.well-known` as the first one. */
export function hasHiddenSegment(name: string): boolean {
  if (!name.startsWith('.')) return name.includes('/.')
  if (name !== WELL_KNOWN && !name.startsWith(`${WELL_KNOWN}/`)) return true
  return name.includes('/.', WELL_KNOWN.length)
}

function decoded(encoded: string): string | undefined {
  if (/%(?:2f|5c|00)/i.test(encoded)) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    // Not UTF-8: no file has such a name as far as we can say.
    return undefined
  }
}
