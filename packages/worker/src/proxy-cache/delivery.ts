import { CONDITIONAL_FIELDS, firstField } from '@svc/cache'
import { RecentWeakMap } from '@svc/core'
import {
  contentRange,
  evaluateConditions,
  type HeaderList,
  isRangeCurrent,
  parseHttpDate,
  parseRange,
  type ResponseHead,
  unsatisfiedContentRange,
  type Validators,
} from '@svc/http'
import type { CacheClient } from './cache-client.ts'

/** The part of a response for one client. */
export interface Delivery {
  readonly head: ResponseHead
  /** Bytes of the body: from here on, */
  readonly from: number
  /** to here, exclusive; undefined: to its end. */
  readonly to: number | undefined
  /** Length of the sent part, as far as it is known. */
  readonly length: number | undefined
}

/** A response that is to be delivered. */
export interface Delivered {
  readonly status: number
  readonly headers: HeaderList
  /** Milliseconds of the wall clock. */
  readonly createdAt: number
  /** Of its body; undefined: it is not known yet. */
  readonly length: number | undefined
  /** True if it comes from the cache, and so says how old it is. */
  readonly isStored: boolean
}

/** A request that a response is delivered to. */
interface Receiver {
  readonly method: string
  readonly headers: HeaderList
}

/**
 * Decides which part of a response a client gets: all of it, a part (RFC 9110 section 14; several parts are answered with the whole),
 * or word that it has it already (RFC 9111 section 4.3.2).
 */
export function deliveryOf(request: Receiver, response: Delivered, now: number): Delivery {
  const { status, length } = response
  const ageSeconds = Math.max(0, Math.floor((now - response.createdAt) / 1000))
  const headers: HeaderList = response.isStored || ageSeconds > 0 ? withAge(response.headers, ageSeconds) : response.headers
  const whole = { head: { status, headers }, from: 0, to: undefined, length }
  if (status !== 200 || !isConditional(request.headers)) return whole
  const header = (name: string) => firstField(request.headers, name)
  const validators = validatorsOf(response, header('if-none-match') === undefined)
  switch (evaluateConditions({ method: request.method, header }, validators)) {
    case 'not-modified':
      return empty(
        304,
        headers.filter(([name]) => !describesBody(name)),
      )
    case 'precondition-failed':
      return empty(412, [])
    case 'proceed':
      return rangeOf(request, header, whole, validators, now)
  }
}

/** True if a request wants a part of the response, or only a changed one. */
function isConditional(headers: HeaderList): boolean {
  for (const [name] of headers) {
    // Asked of every hit: most names are told apart by one character.
    const first = name.charCodeAt(0)
    if ((first === 0x69 || first === 0x72) && CONDITIONAL_FIELDS.has(name)) return true
  }
  return false
}

/** Sends the part of a body at hand that a client gets. */
export function sendPart(client: CacheClient, { head, from, to, length }: Delivery, body: Uint8Array): void {
  const { request, sink } = client
  if (request.method !== 'HEAD' && length !== undefined) {
    sink.whole(head, body.subarray(from, to))
    return
  }
  sink.head(head, length)
  if (!client.isGone) sink.end([])
}

interface Aged {
  readonly seconds: number
  readonly headers: HeaderList
}

/** Results for lists that are sent again and again, which their owners freeze: the same list for a second. */
const aged = new RecentWeakMap<HeaderList, Aged>()

function withAge(headers: HeaderList, seconds: number): HeaderList {
  const known = aged.get(headers)
  if (known?.seconds === seconds) return known.headers
  const made: HeaderList = [...headers, ['age', String(seconds)]]
  if (Object.isFrozen(headers)) aged.set(headers, { seconds, headers: Object.freeze(made) })
  return made
}

function rangeOf(
  { method }: Receiver,
  header: (name: string) => string | undefined,
  whole: Delivery,
  validators: Validators,
  now: number,
): Delivery {
  const range = header('range')
  const { length } = whole
  if (range === undefined || method !== 'GET' || length === undefined) return whole
  if (!isRangeCurrent(header('if-range'), validators, now)) return whole
  const ranges = parseRange(range, length)
  if (ranges === 'unsatisfiable') return empty(416, [['content-range', unsatisfiedContentRange(length)]])
  const [first] = ranges
  if (ranges === 'ignore' || first === undefined || typeof first === 'string' || ranges.length > 1) return whole
  const { start, end } = first
  const headers: HeaderList = [...whole.head.headers, ['content-range', contentRange(first, length)]]
  return { head: { status: 206, headers }, from: start, to: end + 1, length: end + 1 - start }
}

function empty(status: number, headers: HeaderList): Delivery {
  return { head: { status, headers }, from: 0, to: 0, length: status === 304 ? undefined : 0 }
}

/** A response without Last-Modified was not changed later than it was made. */
function validatorsOf({ headers, createdAt }: Delivered, mayGuess: boolean): Validators {
  const modified = parseHttpDate(firstField(headers, 'last-modified') ?? '')
  const made = mayGuess ? (parseHttpDate(firstField(headers, 'date') ?? '') ?? createdAt) : undefined
  return { etag: firstField(headers, 'etag'), lastModifiedMs: modified ?? made }
}

/** Fields that describe a body, which a 304 has none of (RFC 9110 section 15.4.5). */
function describesBody(name: string): boolean {
  return name === 'accept-ranges' || (name.startsWith('content-') && name !== 'content-location')
}
