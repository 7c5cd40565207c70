import { ageSeconds, type EntryFacts, freshnessOf, type StoredEntry, ttlLeftMs } from '@svc/cache'
import { type Clock, entryOf, setNewest } from '@svc/core'
import {
  type CacheStatus,
  cacheStatus,
  evaluateConditions,
  type HeaderList,
  type HttpRequest,
  MAX_LENT_BYTES,
  parseHttpDate,
  type ResponseHead,
  type Validators,
} from '@svc/http'
import { chooseCoding, withVary } from '../compression/coding-choice.ts'
import { type Encode, encodeWhole, type RealCoding } from '../compression/index.ts'
import { sendError } from '../request/error-response.ts'
import type { RequestContext } from '../request/request-context.ts'

/** The cache outcome for a request. */
export type IsrStatus = Omit<CacheStatus, 'cache'>

const CONDITIONS = ['if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since'] as const
/** L0 wants an end, even where there is none. */
const FOREVER_MS = 365 * 24 * 3_600_000

/** The member of this cache in the Cache-Status field. */
export function isrStatus(status: IsrStatus): string {
  return cacheStatus({ cache: 'svc-isr', ...status })
}

/** Dependencies of sending. */
interface SenderTools {
  readonly clock: Clock
  readonly bodies: SharedBodies
}

/** Sends a stored response: whole, or 304 when the client has it already. The body of the entry may change after the return. */
export function sendStored(tools: SenderTools, context: RequestContext, entry: StoredEntry, status: IsrStatus): void {
  const { request } = context
  const now = tools.clock.now()
  const head = deliveredHead(entry, now)
  context.cacheStatus = isrStatus(status)
  if (freshnessOf(entry, now) === 'fresh') offer(context, entry, now)
  // Most requests are not conditional, and need no date to be read.
  if (entry.status === 200 && CONDITIONS.some((name) => request.header(name) !== undefined)) {
    const condition = evaluateConditions(request, validatorsOf(entry))
    if (condition === 'not-modified') {
      context.fillL0({
        head,
        bytes: entry.body.byteLength,
        send(taker) {
          sendWhole(tools, taker.request, entry, (body, encode) => taker.respond(head, body, encode))
          return true
        },
      })
      // The 200 says that it depends on the coding wherever it could be coded, and a 304 says the same.
      context.respond(notModifiedHead(chooseCoding(request, head) === undefined ? head : withVary(head)))
      return
    }
    if (condition === 'precondition-failed') {
      sendError(context, { status: 412, code: 'precondition_failed' })
      return
    }
  }
  sendWhole(tools, request, entry, (body, encode) => context.respondCompressed(head, body, encode))
}

type SendBody = (body: Uint8Array, encode?: Encode) => void

function sendWhole({ bodies }: SenderTools, request: Pick<HttpRequest, 'header'>, entry: StoredEntry, send: SendBody): void {
  const outlivesCall = request.header('accept-encoding') !== undefined || entry.body.byteLength > MAX_LENT_BYTES
  if (outlivesCall) send(bodies.copyOf(entry), (coding, body) => bodies.encode(coding, body))
  else send(entry.body)
}

function offer(context: RequestContext, entry: StoredEntry, now: number): void {
  const { createdAt, label, path, tags, seq, ttlMs } = entry
  const expiresAt = ttlMs === null ? now + FOREVER_MS : createdAt + ttlMs
  context.offerToL0({ expiresAt, label, path, tags, seq, dependsOnCookies: false })
}

/** "For ever" in seconds: a year, as in Next.js. */
const FOREVER_SECONDS = 31_536_000

function fieldOf(headers: HeaderList, wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
}

function seconds(ms: number): number {
  return ms === Number.POSITIVE_INFINITY ? FOREVER_SECONDS : Math.floor(ms / 1000)
}

/** The Cache-Control of a stored response: browsers ask each time, shared caches may keep it as long as this one does. */
function sharedCacheControl(entry: EntryFacts, now: number): string {
  return `public, max-age=0, s-maxage=${seconds(ttlLeftMs(entry, now))}, stale-while-revalidate=${seconds(swrLeftMs(entry, now))}`
}

/** Milliseconds of its stale time that an entry has left. */
function swrLeftMs({ createdAt, ttlMs, swrMs }: EntryFacts, now: number): number {
  const pastMs = ttlMs === null ? 0 : now - createdAt - ttlMs
  return Math.max(0, swrMs - Math.max(0, pastMs))
}

/** The head of a stored response with the fields that are computed at each delivery. A Cache-Control of the site's own stays. */
function deliveredHead(entry: StoredEntry, now: number): ResponseHead {
  const headers: (readonly [name: string, value: string])[] = [...entry.headers]
  if (fieldOf(headers, 'cache-control') === undefined) headers.push(['cache-control', sharedCacheControl(entry, now)])
  headers.push(['age', String(ageSeconds(entry, now))])
  return { status: entry.status, headers }
}

/** Validators that conditions of a request are compared with. */
function validatorsOf(entry: StoredEntry): Validators {
  const lastModified = fieldOf(entry.headers, 'last-modified')
  return {
    etag: fieldOf(entry.headers, 'etag'),
    lastModifiedMs: lastModified === undefined ? undefined : parseHttpDate(lastModified),
  }
}

/** Fields of a response that a 304 repeats (RFC 9110 section 15.4.5), and Age. */
const REPEATED: ReadonlySet<string> = new Set([
  'age',
  'cache-control',
  'content-location',
  'etag',
  'expires',
  'last-modified',
  'vary',
])

/** The head of the 304 that stands for a delivered head. */
function notModifiedHead(head: ResponseHead): ResponseHead {
  return { status: 304, headers: head.headers.filter(([name]) => REPEATED.has(name.toLowerCase())) }
}

/** Maximum number of bodies that are indexed; past it the oldest one is copied again when it is requested again. */
const MAX_BODIES = 1_024

/**
 * Bodies of stored responses that outlive their turn, because they are compressed or their client is slow: all clients of the
 * same body share one copy of it, and one of each coding. Otherwise many slow clients of one large page would take its size each. Nothing
 * stays in memory without a user: it goes with the next garbage collection.
 */
export class SharedBodies {
  readonly #encode: Encode
  readonly #bodies = new Map<string, WeakRef<Buffer>>()
  readonly #encodings = new WeakMap<Uint8Array, Map<RealCoding, Promise<Uint8Array>>>()

  constructor(encode: Encode = encodeWhole) {
    this.#encode = encode
  }

  /** The body of an entry, in memory that does not change. */
  copyOf({ label, path, body }: Pick<StoredEntry, 'label' | 'path' | 'body'>): Buffer {
    const name = `${label}\0${path}\0${body.byteLength}`
    const known = this.#bodies.get(name)?.deref()
    // The name may stand for another entry of the path, and a later one: only the bytes tell.
    if (known?.equals(body) === true) return known
    const copy = Buffer.allocUnsafeSlow(body.byteLength)
    copy.set(body)
    setNewest(this.#bodies, name, new WeakRef(copy), MAX_BODIES)
    return copy
  }

  /** A body that `copyOf` has given, compressed; the result is others' too. */
  encode(coding: RealCoding, body: Uint8Array): Promise<Uint8Array> {
    const encodings = entryOf(this.#encodings, body, () => new Map<RealCoding, Promise<Uint8Array>>())
    return entryOf(encodings, coding, () => {
      const made = this.#encode(coding, body)
      // The next caller tries again; earlier callers learn of the failure from the promise.
      made.catch(() => encodings.delete(coding))
      return made
    })
  }
}
