/**
 * Splits a field value at a separator that stands outside of quoted strings (RFC 9110 section 5.6.4). Parts are trimmed of
 * blanks and empty ones left out (section 5.6.1.2).
 */
export function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  let isQuoted = false
  for (let i = 0; i <= text.length; i++) {
    const character = text[i]
    if (isQuoted && character === '\\') i++
    else if (character === '"') isQuoted = !isQuoted
    else if (i === text.length || (character === separator && !isQuoted)) {
      pushTrimmed(parts, text.slice(start, i))
      start = i + 1
    }
  }
  if (start < text.length && isQuoted) pushTrimmed(parts, text.slice(start))
  return parts
}

function pushTrimmed(parts: string[], text: string): void {
  const trimmed = text.trim()
  if (trimmed !== '') parts.push(trimmed)
}

/** Takes the quotes and escapes off a quoted string; other text comes back as it is. */
function unquote(text: string): string {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return text
  return text.slice(1, -1).replace(/\\(.)/g, '$1')
}

/** Splits `name=value` or `name` into a lower-case name and the unquoted value, undefined without "=". */
export function splitPair(text: string): readonly [name: string, value: string | undefined] {
  const equals = text.indexOf('=')
  if (equals === -1) return [text.toLowerCase(), undefined]
  return [text.slice(0, equals).trim().toLowerCase(), unquote(text.slice(equals + 1).trim())]
}
