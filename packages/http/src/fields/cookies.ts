/**
 * Parses a Cookie field (RFC 6265 section 4.2.1). Values come as sent, without the quotes around them and not decoded; of a
 * name sent twice the first counts, which is the one with the longer path (section 5.4). Pairs without "=" are left out.
 */
export function parseCookies(field: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const [name, pair] of pairsOf(field ?? '')) {
    if (name !== '' && !cookies.has(name)) cookies.set(name, cookieValue(pair))
  }
  return cookies
}

/** All values of a cookie in a Cookie field, as sent: a page of another host of the same domain can add one of the same name. */
export function valuesOfCookie(field: string, wanted: string): string[] {
  return pairsOf(field).flatMap(([name, pair]) => (name === wanted ? [cookieValue(pair)] : []))
}

/**
 * Takes cookies out of a Cookie field.
 * @returns the field without them, the same string if it has none of them, or undefined if nothing is left
 */
export function removeCookies(field: string, names: ReadonlySet<string>): string | undefined {
  const pairs = pairsOf(field)
  const kept = pairs.filter(([name]) => !names.has(name))
  if (kept.length === pairs.length) return field
  return kept.length === 0 ? undefined : kept.map(([, pair]) => pair).join('; ')
}

function pairsOf(field: string): ReadonlyArray<readonly [name: string, pair: string]> {
  const pairs: Array<readonly [string, string]> = []
  for (const part of field.split(';')) {
    const pair = part.trim()
    const equals = pair.indexOf('=')
    if (pair !== '') pairs.push([equals === -1 ? '' : pair.slice(0, equals).trimEnd(), pair])
  }
  return pairs
}

function cookieValue(pair: string): string {
  const value = pair.slice(pair.indexOf('=') + 1).trim()
  return value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}
