import type { PatternSpec } from './template.ts'

/** Terms of `gzip on`. */
export interface CompressionSpec {
  /** Media types in lower case, text/html besides; `*`: all. */
  readonly types: readonly string[]
  /** Shorter bodies are sent as they are. */
  readonly minBytes: number
  /** Responses to requests of a proxy, which have a Via field, that are compressed too. */
  readonly proxied: readonly GzipProxied[]
  /** Oldest version of HTTP. */
  readonly httpVersion: '1.0' | '1.1'
  /** User-Agents that get no compressed responses. */
  readonly disabled: readonly ('msie6' | PatternSpec)[]
  /** True if compressible responses say `Vary: Accept-Encoding`. */
  readonly hasVary: boolean
}

/** A condition of `gzip_proxied`. */
export type GzipProxied =
  | 'off'
  | 'expired'
  | 'no-cache'
  | 'no-store'
  | 'private'
  | 'no_last_modified'
  | 'no_etag'
  | 'auth'
  | 'any'
