import type { UpstreamGroup } from '../balance/upstream-group.ts'
import type { TlsTransport } from './dial.ts'
import type { HttpConnections } from './http-connections.ts'

/** Limits on the phases of a call. */
export interface UpstreamTimeouts {
  readonly connectMs: number
  readonly readMs: number
  readonly sendMs: number
}

/** How requests are sent to a group of HTTP servers. */
export interface HttpOriginSettings {
  readonly group: UpstreamGroup
  readonly connections: HttpConnections
  /** undefined: plain HTTP. */
  readonly tls: TlsTransport | undefined
  /** Host of requests that name none. */
  readonly host: string
  readonly timeouts: UpstreamTimeouts
  /** When another server is tried: words of `proxy_next_upstream`. */
  readonly nextUpstream: NextUpstream
  readonly httpVersion: '1.0' | '1.1'
  /** True if connections serve more than one request. With HTTP/1.0 they never do. */
  readonly keepsConnections: boolean
}

/** Words of `proxy_next_upstream`, parsed. */
export interface NextUpstream {
  readonly onError: boolean
  readonly onTimeout: boolean
  readonly onBadAnswer: boolean
  readonly onStatus: ReadonlySet<number>
  /** Also requests with POST, LOCK and PATCH. */
  readonly evenOnce: boolean
  /** Most servers that are tried. */
  readonly maxTries: number
  /** Milliseconds from the beginning of the request after which no other server is tried. */
  readonly limitMs: number
}

/**
 * Reads the words of `..._next_upstream`.
 * @param limits `..._next_upstream_tries` and `..._next_upstream_timeout`; 0: no limit
 */
export function parseNextUpstream(words: readonly string[], limits = { maxTries: 0, triesMs: 0 }): NextUpstream {
  const isOn = !words.includes('off')
  const has = (word: string) => isOn && words.includes(word)
  const statuses = words.flatMap((word) => (isOn && /^http_\d{3}$/.test(word) ? [Number(word.slice(5))] : []))
  return {
    onError: has('error'),
    onTimeout: has('timeout'),
    onBadAnswer: has('invalid_header'),
    onStatus: new Set(statuses),
    evenOnce: has('non_idempotent'),
    maxTries: limits.maxTries || Number.POSITIVE_INFINITY,
    limitMs: limits.triesMs || Number.POSITIVE_INFINITY,
  }
}
