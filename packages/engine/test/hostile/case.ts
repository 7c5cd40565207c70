/** One conversation of raw bytes and the outcomes that are allowed for it. */
export interface HostileCase {
  readonly name: string
  /** Segments, each sent when the one before was taken by the kernel. `{mark}` becomes a path that the server counts. */
  readonly send: readonly (string | Buffer)[]
  /** Allowed sequences of statuses. An interim 100 counts. Empty: closed without an answer. */
  readonly allow: readonly (readonly number[])[]
  /**
   * State of the connection afterwards. `open`: a clean request on the same connection must be answered next. `closed`: the server closes.
   * `idle`: the server closes after the idle time of the library. `any`: only the sender's own connection is at stake.
   */
  readonly then: 'open' | 'closed' | 'idle' | 'any'
  /** How often the marker may run. @default 0 */
  readonly marks?: readonly number[]
  /** Action of the client after its last segment. */
  readonly ending?: 'half-close' | 'reset'
  /** Methods whose responses have no body, in the order of the responses. */
  readonly heads?: readonly number[]
  /** Text that a response body must contain. */
  readonly contains?: string
  /** Text that may not stand anywhere in what the server sent. */
  readonly lacks?: string
  /** Differences on engine node. */
  readonly node?: Partial<Pick<HostileCase, 'allow' | 'then' | 'marks' | 'contains' | 'lacks'>>
}

/** Head of a request to a good host with these further lines. */
export function head(line: string, ...fields: readonly string[]): string {
  return [line, 'Host: a.test', ...fields, '', ''].join('\r\n')
}

export const get = (target: string, ...fields: readonly string[]): string => head(`GET ${target} HTTP/1.1`, ...fields)
export const post = (target: string, ...fields: readonly string[]): string => head(`POST ${target} HTTP/1.1`, ...fields)

/** A request that must never run. */
export const smuggled = get('{mark}')

/** Refused, and the connection closed. */
export const refused = { allow: [[400]], then: 'closed' } as const
/** Refused by the parser of the library, with one of its answers. */
export const rejected = { allow: [[400], [505], [431]], then: 'closed' } as const
export const answered = { allow: [[200]], then: 'open' } as const
/** Refused, or cut without an answer because more bytes followed. */
export const refusedOrCut = { allow: [[400], [501], [505], []], then: 'closed' } as const
