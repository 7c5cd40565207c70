import { isDigits } from '../syntax/characters.ts'
import { splitOutsideQuotes, splitPair } from '../syntax/quoted-list.ts'

/** The directives of a Cache-Control field (RFC 9111 section 5.2, RFC 5861, RFC 8246). Durations in seconds. */
export interface CacheControl {
  readonly isPublic: boolean
  /** Also for the form with field names: it is taken for the stricter plain form. */
  readonly isPrivate: boolean
  readonly noStore: boolean
  /** Also for the form with field names. */
  readonly noCache: boolean
  readonly noTransform: boolean
  readonly mustRevalidate: boolean
  readonly proxyRevalidate: boolean
  readonly onlyIfCached: boolean
  readonly isImmutable: boolean
  readonly maxAge: number | undefined
  readonly sMaxage: number | undefined
  readonly staleWhileRevalidate: number | undefined
  readonly staleIfError: number | undefined
  /** Infinity when given without a value: any staleness is accepted. */
  readonly maxStale: number | undefined
  readonly minFresh: number | undefined
}

/** Upper bound of numbers (RFC 9111 section 1.2.2). */
const MAX_DELTA_SECONDS = 2 ** 31

/**
 * Parses a Cache-Control field. Names ignore case, values may be quoted; of a directive given twice the first counts. A
 * duration that is no number counts as 0, so that a response with a garbled lifetime is stale (RFC 9111 section 4.2.1).
 */
export function parseCacheControl(value: string | undefined): CacheControl {
  const directives = new Map<string, string | undefined>()
  for (const part of splitOutsideQuotes(value ?? '', ',')) {
    const [name, argument] = splitPair(part)
    if (!directives.has(name)) directives.set(name, argument)
  }
  const seconds = (name: string) => (directives.has(name) ? deltaSeconds(directives.get(name)) : undefined)
  return {
    isPublic: directives.has('public'),
    isPrivate: directives.has('private'),
    noStore: directives.has('no-store'),
    noCache: directives.has('no-cache'),
    noTransform: directives.has('no-transform'),
    mustRevalidate: directives.has('must-revalidate'),
    proxyRevalidate: directives.has('proxy-revalidate'),
    onlyIfCached: directives.has('only-if-cached'),
    isImmutable: directives.has('immutable'),
    maxAge: seconds('max-age'),
    sMaxage: seconds('s-maxage'),
    staleWhileRevalidate: seconds('stale-while-revalidate'),
    staleIfError: seconds('stale-if-error'),
    maxStale:
      directives.has('max-stale') && directives.get('max-stale') === undefined ? Number.POSITIVE_INFINITY : seconds('max-stale'),
    minFresh: seconds('min-fresh'),
  }
}

function deltaSeconds(text: string | undefined): number {
  return text !== undefined && isDigits(text) ? Math.min(Number(text), MAX_DELTA_SECONDS) : 0
}
