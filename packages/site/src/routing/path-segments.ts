/**
 * Cuts the path of a URL into its segments, percent-decoded one by one: "%2F" stays within its segment.
 * undefined for a path that does not begin with "/", has an empty segment or an escape that is not UTF-8.
 */
export function pathSegments(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  if (path === '/') return []
  const segments = path.slice(1).split('/')
  const isPlain = !path.includes('%')
  for (let i = 0; i < segments.length; i++) {
    const text = segments[i] as string
    if (text === '') return undefined
    if (isPlain) continue
    const decoded = decodeSegment(text)
    if (decoded === undefined) return undefined
    segments[i] = decoded
  }
  return segments
}

function decodeSegment(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // URIError, the only one it throws: not UTF-8.
    return undefined
  }
}
