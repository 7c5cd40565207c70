import type { ContentCoding, ParsedTarget } from '@svc/http'

/** The parts of an L0 key beside the path and the query. */
export interface L0Origin {
  readonly scheme: 'http' | 'https'
  /** As the client named it: lower case, with its port if it named one. */
  readonly host: string
  /** Key part of the listen address, without a slash; undefined if all addresses serve the same. */
  readonly address?: string | undefined
}

/** The key of a response: its origin and coding, then its path and query. */
export interface L0Key {
  readonly prefix: string
  readonly target: string
}

const codingMarks: Readonly<Record<ContentCoding, string>> = { br: 'b', zstd: 'z', gzip: 'g', identity: 'i' }

/** The part of a key before the path. No host holds a slash, and every path begins with one. */
export function l0KeyPrefix({ scheme, host, address }: L0Origin, coding: ContentCoding): string {
  const origin = `${codingMarks[coding]}${scheme === 'http' ? 'p' : 's'}${host}`
  return address === undefined ? origin : `${origin} ${address}`
}

/** The part of a key behind the prefix: the normalised path, and the query as sent. Costs nothing when the target is normal. */
export function l0KeyTarget(target: string, { path, rawPath, query }: ParsedTarget): string {
  if (path === rawPath) return target
  return query === '' ? path : `${path}?${query}`
}
