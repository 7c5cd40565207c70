/** Fields of the log line of one request. */
export interface AccessEntry {
  /** When the request began, milliseconds since the epoch. */
  readonly startedAt: number
  readonly requestId: string
  /** Site id, or "" when none was found. */
  readonly site: string
  readonly method: string
  /** Path as sent; a query is cut off here. */
  readonly path: string
  readonly status: number
  /** Body bytes sent. */
  readonly bytes: number
  readonly durationMs: number
  /** Result of the caches, e.g. "l0-hit", or "" when none was asked. */
  readonly cache: string
  /** Client address after trusted proxies. */
  readonly client: string
  readonly userAgent: string
  /** Value of the Referer field, or "". */
  readonly referrer: string
  readonly httpVersion: '1.0' | '1.1' | '2'
  /** Its span; undefined: it is not sampled. */
  readonly trace?: { readonly traceId: string; readonly spanId: string } | undefined
}

/** Longer values are cut: a line must stay under the size that a pipe takes whole. */
export const MAX_VALUE_CHARS = 512

/** Returns a path as sent, without the query. */
export function withoutQuery(path: string): string {
  const query = path.indexOf('?')
  const fragment = path.indexOf('#')
  if (query === -1 && fragment === -1) return path
  return path.slice(0, query === -1 || (fragment !== -1 && fragment < query) ? fragment : query)
}
