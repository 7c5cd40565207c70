/** An entity tag as it stands in a field, quotes and `W/` included: `"abc"`, `W/"abc"`. */
export type EntityTag = string

const tagPattern = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/

/** Whether the text is one entity tag (RFC 9110 section 8.8.3). */
export function isEntityTag(text: string): text is EntityTag {
  return tagPattern.test(text)
}

/** Whether two tags are equal and both strong (RFC 9110 section 8.8.3.2). */
export function equalStrongly(a: EntityTag, b: EntityTag): boolean {
  return a === b && !a.startsWith('W/')
}

/** Whether two tags are equal but for their weakness (RFC 9110 section 8.8.3.2). */
export function equalWeakly(a: EntityTag, b: EntityTag): boolean {
  return opaquePart(a) === opaquePart(b)
}

/** The weak form of a tag. */
export function weaken(tag: EntityTag): EntityTag {
  return tag.startsWith('W/') ? tag : `W/${tag}`
}

function opaquePart(tag: EntityTag): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}

/**
 * Parses the value of If-Match or If-None-Match: `*` or a list of tags. A comma may stand inside a tag. What follows the first
 * thing that is no tag is left out.
 */
export function parseEntityTags(value: string): readonly EntityTag[] | '*' {
  if (value.trim() === '*') return '*'
  const tags: EntityTag[] = []
  const pattern = /[\t ,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[\t ]*(?=,|$)/y
  for (let match = pattern.exec(value); match?.[1] !== undefined; match = pattern.exec(value)) tags.push(match[1])
  return tags
}
