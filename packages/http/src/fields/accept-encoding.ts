import { splitOutsideQuotes } from '../syntax/quoted-list.ts'

/** A content coding that this server can produce, or none. Also the encoding class in cache keys. */
export type ContentCoding = 'br' | 'zstd' | 'gzip' | 'identity'

/**
 * Codings in the order in which the server prefers them when a client likes several equally: br first, since it makes text
 * smallest at the levels used here, then zstd, which is cheaper than gzip and smaller.
 */
const codingPreference: readonly ContentCoding[] = Object.freeze(['br', 'zstd', 'gzip', 'identity'] as const)

/** The value that browsers send, parsed in advance. */
const commonValues: ReadonlyMap<string, ContentCoding> = new Map([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip, deflate, br', 'br'],
  ['gzip, deflate', 'gzip'],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['zstd', 'zstd'],
  ['identity', 'identity'],
])

/** The coding that an Accept-Encoding field gets when the server can produce them all. */
export function encodingClass(acceptEncoding: string | undefined): ContentCoding {
  if (acceptEncoding === undefined) return 'identity'
  return commonValues.get(acceptEncoding) ?? negotiateEncoding(acceptEncoding, codingPreference)
}

/**
 * Chooses a content coding (RFC 9110 section 12.5.3): the one with the highest weight, of equals the first of
 * `codingPreference`. Without the field, and when nothing that is available is accepted, it is identity. Identity that is not
 * named weighs less than any coding that is. Unknown codings and malformed elements are ignored.
 */
export function negotiateEncoding(acceptEncoding: string | undefined, available: readonly ContentCoding[]): ContentCoding {
  if (acceptEncoding === undefined) return 'identity'
  const weights = parseWeights(acceptEncoding)
  let best: ContentCoding = 'identity'
  let bestWeight = 0
  for (const coding of codingPreference) {
    if (coding !== 'identity' && !available.includes(coding)) continue
    const weight = weights.get(coding) ?? (coding === 'identity' ? 0 : (weights.get('*') ?? 0))
    if (weight > bestWeight) {
      best = coding
      bestWeight = weight
    }
  }
  return best
}

function parseWeights(field: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const element of splitOutsideQuotes(field, ',')) {
    const [name = '', ...parameters] = element.toLowerCase().split(';')
    const weight = parseWeight(parameters)
    const coding = name.trim() === 'x-gzip' ? 'gzip' : name.trim()
    if (weight !== undefined && !weights.has(coding)) weights.set(coding, weight)
  }
  return weights
}

/** Weight of RFC 9110 section 12.4.2: 1 without a parameter, undefined when it is malformed. */
export function parseWeight(parameters: readonly string[]): number | undefined {
  const weight = parameters.map((parameter) => parameter.trim()).find((parameter) => /^q\s*=/i.test(parameter))
  if (weight === undefined) return 1
  const value = /^q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i.exec(weight)?.[1]
  return value === undefined ? undefined : Number(value)
}
