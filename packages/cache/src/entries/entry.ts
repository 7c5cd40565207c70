/** Metadata that the ISR store keeps beside the body. Times are milliseconds of the wall clock. */
export interface EntryFacts {
  /** A page or handler response, or the result of a `fetch` or of `unstable_cache`. */
  readonly kind: 'response' | 'data'
  readonly label: string
  /** Normalised path; "" for data. */
  readonly path: string
  /** Host of the request, where the response read it; else "". */
  readonly host: string
  /** True if the query is part of the key: such entries take at most a quarter of the store. */
  readonly isQueryKeyed: boolean
  /** Given to a store: clients can make up such keys, and this one was requested once so far. Stores do not give it back. */
  readonly isNewcomer?: boolean | undefined
  /** Full tags: `route:<label>:<name>`. */
  readonly tags: readonly string[]
  readonly createdAt: number
  /** Milliseconds of freshness; null: for ever. */
  readonly ttlMs: number | null
  /** Milliseconds after that during which the entry is served while it is refreshed. */
  readonly swrMs: number
  /** Set by a purge of mode `stale`: the entry counts as stale from its creation on, whatever `ttlMs` says. */
  readonly isMarkedStale: boolean
  /** Number of the last purge that the maker of this entry knew when it began. */
  readonly seq: number
  /** For `response`: status and fields as they are sent, without those computed at each delivery. For `data`: 0 and []. */
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Location of a body outside the store; `body` is then empty. */
  readonly bodyFile?: BodyFileRef | undefined
}

/** A body that is kept in a file beside the store. */
export interface BodyFileRef {
  readonly name: string
  readonly bytes: number
}

/** An entry with its body, which may lie in shared memory: valid until the end of the turn, copy what is kept. */
export interface StoredEntry extends EntryFacts {
  readonly body: Uint8Array
}

/** The request inputs that the key of a response depends on, beside label and path. Widened by renders that read more, reset by module changes. */
export interface Variance {
  readonly query: boolean
  readonly host: boolean
}

/** The variance record of a path. */
export interface KnownVariance extends Variance {
  /** Code of the label has changed since: look-ups still use the record, but the next render resets it. */
  readonly isOutdated: boolean
}
