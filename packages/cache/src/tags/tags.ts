/**
 * Tags that site code may give to one entry. With more of them it is not stored: left out, a purge of them would not take it.
 */
export const MAX_ENTRY_TAGS = 1_024

/** Takes the slash from the end of a path, but leaves the root. */
export function withoutTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** The full tag of a name: a route pattern (`/blog/[slug]`) or a tag of the site's code (`posts`). */
export function fullTag(label: string, name: string): string {
  return `route:${label}:${name}`
}

/** The tag of a concrete path, given normalised: decoded and without trailing slash. */
export function pathTag(label: string, path: string): string {
  return fullTag(label, withoutTrailingSlash(decodedPath(path)))
}

/** The tags that every response carries: its path and, when a route made it, the pattern; then those of the site's code. */
export function responseTags(label: string, path: string, pattern: string, siteTags: readonly string[]): string[] {
  const tags = new Set([pathTag(label, path)])
  if (pattern !== '') tags.add(fullTag(label, pattern))
  for (const name of siteTags) tags.add(fullTag(label, name))
  return [...tags]
}

function decodedPath(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    // Not UTF-8: such a path is known by its escapes.
    return path
  }
}

/** The tag of all proxy-cache entries for a URI: its variants, and those of several upstreams. No purge by tags reaches it. */
export function uriTag(uri: string): string {
  return `uri:${uri}`
}
