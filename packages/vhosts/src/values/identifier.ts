/** Characters that an id or label may have at most. */
export const MAX_IDENTIFIER = 63

const identifier = /^[a-z0-9][a-z0-9._-]{0,62}$/

/** Returns true for a text that may be the id or label of a site. */
export function isIdentifier(text: string): boolean {
  return identifier.test(text)
}
