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

/** A parsed glob: the runs of characters between its stars. */
function literalsOf(glob: string): string[] {
  const literals: string[] = []
  let literal = ''
  for (let i = 0; i < glob.length; i++) {
    const isEscapedStar = glob[i] === '\\' && glob[i + 1] === '*'
    if (glob[i] === '*') {
      literals.push(literal)
      literal = ''
      continue
    }
    if (isEscapedStar) i++
    literal += glob[i]
  }
  return [...literals, literal]
}

/**
 * Compiles a glob over tags: `*` is any run of characters, also an empty one; `\*` is a star; all else stands for itself. A
 * test costs time in proportion to the tag, whatever the glob.
 */
export function tagMatcher(glob: string): (tag: string) => boolean {
  const literals = literalsOf(glob)
  const first = literals[0] ?? ''
  if (literals.length === 1) return (tag) => tag === first
  const last = literals.at(-1) ?? ''
  // Stars side by side are one star.
  const between = literals.slice(1, -1).filter((literal) => literal !== '')
  return (tag) => {
    if (tag.length < first.length + last.length || !tag.startsWith(first) || !tag.endsWith(last)) return false
    const end = tag.length - last.length
    let from = first.length
    for (const literal of between) {
      const at = tag.indexOf(literal, from)
      if (at === -1 || at + literal.length > end) return false
      from = at + literal.length
    }
    return true
  }
}

/** Common prefix of all tags that a glob matches: the start of a scan in an ordered index. */
export function globPrefix(glob: string): string {
  return literalsOf(glob)[0] ?? ''
}

/** True if a glob matches every tag. */
export function isMatchAll(glob: string): boolean {
  return /^\*+$/.test(glob)
}

/** True if a glob matches all tags of a label, so that untagged entries go with them. */
export function coversLabel(matchesTag: (tag: string) => boolean, label: string): boolean {
  return matchesTag(`route:${label}:`)
}
