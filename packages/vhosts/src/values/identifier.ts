/** Characters that an id or label may have at most. */
export const MAX_IDENTIFIER = 63

/** Returns true for a text that may be the id or label of a site. */
export function isIdentifier(text: string): boolean {
  return /^[a-z0-9][a-z0-9._-]*$/.test(text) && text.length <= MAX_IDENTIFIER
}
