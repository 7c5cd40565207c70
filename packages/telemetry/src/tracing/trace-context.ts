import { randomFillSync } from 'node:crypto'

/** The span of a caller, as its traceparent field names it (W3C Trace Context). */
interface RemoteSpan {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

/** Version, trace id, span id and flags; later versions may append fields. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?$/
const MAX_TRACEPARENT_CHARS = 256
/**
 * A tracestate field that is passed on. Trace Context section 3.3.1.5 wants at least so much; longer lists are dropped. Other
 * characters would make the request of an upstream or a site's fetch fail.
 */
const TRACESTATE = /^[\t -~]{1,512}$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/** Reads a traceparent field; undefined: there is none, or it is invalid. */
export function parseTraceparent(field: string | undefined): RemoteSpan | undefined {
  if (field === undefined || field.length > MAX_TRACEPARENT_CHARS) return undefined
  const match = TRACEPARENT.exec(field)
  if (match === null) return undefined
  const [, version, traceId = '', spanId = '', flags = '', rest] = match
  if (version === 'ff' || (version === '00' && rest !== undefined) || traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

const POOL_BYTES = 4096
const pool = { bytes: Buffer.allocUnsafe(POOL_BYTES), used: POOL_BYTES }

/** Random ids, from memory that is filled once for many of them. */
function randomHex(bytes: number): string {
  if (pool.used + bytes > POOL_BYTES) {
    randomFillSync(pool.bytes)
    pool.used = 0
  }
  const hex = pool.bytes.toString('hex', pool.used, pool.used + bytes)
  pool.used += bytes
  return hex === NO_TRACE || hex === NO_SPAN ? randomHex(bytes) : hex
}

/** The trace of one request: ids of its own span, and of the calls that it makes. */
export class RequestTrace {
  readonly traceId: string
  readonly spanId: string
  /** Span of the caller; "": the trace begins here. */
  readonly parentId: string
  /** False: its spans are not exported; callees are told so. */
  readonly isSampled: boolean
  /** The caller's tracestate field; "": none. */
  readonly state: string
  #calls: Map<string, string> | undefined

  /**
   * @param parent span of the caller
   * @param state tracestate field, which counts only with a valid traceparent
   */
  constructor(parent: RemoteSpan | undefined, state: string | undefined, isSampled: boolean) {
    this.traceId = parent?.traceId ?? randomHex(16)
    this.spanId = randomHex(8)
    this.parentId = parent?.spanId ?? ''
    this.isSampled = isSampled
    this.state = parent !== undefined && state !== undefined && TRACESTATE.test(state) ? state : ''
  }

  /** The traceparent field of a call that the request makes in a stage: the stage's span is the caller. */
  traceparentOf(stage: string): string {
    return `00-${this.traceId}-${this.#callOf(stage)}-${this.isSampled ? '01' : '00'}`
  }

  /** The fields of such a call. */
  fieldsOf(stage: string): [name: string, value: string][] {
    const traceparent: [string, string] = ['traceparent', this.traceparentOf(stage)]
    return this.state === '' ? [traceparent] : [traceparent, ['tracestate', this.state]]
  }

  /** Id of the span of a stage: the one that its callees know. The first stage of that name gets it. */
  takeSpanId(stage: string): string {
    const known = this.#calls?.get(stage)
    if (known === undefined) return randomHex(8)
    this.#calls?.delete(stage)
    return known
  }

  /** Callees of a request without spans have the request itself as their caller. */
  #callOf(stage: string): string {
    if (!this.isSampled) return this.spanId
    this.#calls ??= new Map()
    const known = this.#calls.get(stage) ?? randomHex(8)
    this.#calls.set(stage, known)
    return known
  }
}
