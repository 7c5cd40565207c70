import { freshnessOf, type StoredEntry } from '@svc/cache'
import type { Clock } from '@svc/core'
import { type CacheStatus, cacheStatus, evaluateConditions, type HttpRequest, MAX_LENT_BYTES } from '@svc/http'
import { chooseCoding, withVary } from '../compression/coding-choice.ts'
import type { Encode } from '../compression/index.ts'
import { sendError } from '../request/error-response.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { SharedBodies } from './shared-bodies.ts'
import { deliveredHead, notModifiedHead, validatorsOf } from './stored-head.ts'

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
interface SenderParts {
  readonly clock: Clock
  readonly bodies: SharedBodies
}

/** Sends a stored response: whole, or 304 when the client has it already. The body of the entry may change after the return. */
export function sendStored(parts: SenderParts, context: RequestContext, entry: StoredEntry, status: IsrStatus): void {
  const { request } = context
  const now = parts.clock.now()
  const head = deliveredHead(entry, now)
  context.cacheStatus = isrStatus(status)
  if (freshnessOf(entry, now) === 'fresh') offer(context, entry, now)
  if (entry.status === 200 && isConditional(request)) {
    const condition = evaluateConditions(request, validatorsOf(entry))
    if (condition === 'not-modified') {
      context.fillL0({
        head,
        bytes: entry.body.byteLength,
        send(taker) {
          sendWhole(parts, taker.request, entry, (body, encode) => taker.respond(head, body, encode))
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
  sendWhole(parts, request, entry, (body, encode) => context.respondCompressed(head, body, encode))
}

type SendBody = (body: Uint8Array, encode?: Encode) => void

function sendWhole({ bodies }: SenderParts, request: Pick<HttpRequest, 'header'>, entry: StoredEntry, send: SendBody): void {
  const mayBeKept = request.header('accept-encoding') !== undefined || entry.body.byteLength > MAX_LENT_BYTES
  if (mayBeKept) send(bodies.keep(entry), (coding, body) => bodies.encode(coding, body))
  else send(entry.body)
}

/** Most requests are not, and need no date to be read. */
function isConditional(request: Pick<HttpRequest, 'header'>): boolean {
  return CONDITIONS.some((name) => request.header(name) !== undefined)
}

function offer(context: RequestContext, entry: StoredEntry, now: number): void {
  const { createdAt, label, path, tags, seq, ttlMs } = entry
  const expiresAt = ttlMs === null ? now + FOREVER_MS : createdAt + ttlMs
  context.offerToL0({ expiresAt, label, path, tags, seq, dependsOnCookies: false })
}
