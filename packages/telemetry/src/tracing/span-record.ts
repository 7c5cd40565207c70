/** Names and values of attributes. */
export type SpanAttributes = Readonly<Record<string, string | number>>

/** A part of a request that has ended. */
export interface SpanRecord {
  readonly name: string
  /** `server`: the request of a client; `client`: a call to another server. */
  readonly kind: 'server' | 'internal' | 'client'
  readonly traceId: string
  readonly spanId: string
  /** "": the trace begins with it. */
  readonly parentId: string
  /** True if the parent is of another process. */
  readonly isParentRemote: boolean
  readonly state: string
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number
  readonly durationMs: number
  readonly isError: boolean
  readonly attributes: SpanAttributes
}
