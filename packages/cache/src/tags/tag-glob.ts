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
