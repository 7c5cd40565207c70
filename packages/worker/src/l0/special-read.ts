import type { L0Entry, L0Origin } from '@svc/cache'
import type { ReadyRequest } from '@svc/engine'
import { type CidrSet, clientOf, contentRange, parseRange, type ResponseHead } from '@svc/http'

/** A read with special fields that can be answered from L0 all the same. */
interface SpecialRead {
  /** Scheme and host as the client named them, where a trusted proxy vouches for it. */
  readonly origin: L0Origin
  /** Value of the Range field, for GET. */
  readonly range: string | undefined
}

/** Fields with which only the pipeline can answer. If-Modified-Since counts for nothing beside If-None-Match. */
const PIPELINE_FIELDS = ['authorization', 'upgrade', 'if-match', 'if-range', 'if-unmodified-since'] as const

const PROXY_FIELDS = ['forwarded', 'x-forwarded-host', 'x-forwarded-proto'] as const

/**
 * Looks closer at a request with special fields; undefined: the pipeline has to answer it.
 * @param address key part of its listen address
 */
export function readSpecial(ask: ReadyRequest, trusted: CidrSet, address: string | undefined): SpecialRead | undefined {
  if (PIPELINE_FIELDS.some((name) => ask.field(name) !== undefined)) return undefined
  if (ask.ifNoneMatch === undefined && ask.field('if-modified-since') !== undefined) return undefined
  if (ask.field('cache-control')?.toLowerCase().includes('no-transform') === true) return undefined
  return { origin: { ...originOf(ask, trusted), address }, range: ask.method === 'GET' ? ask.field('range') : undefined }
}

function originOf(ask: ReadyRequest, trusted: CidrSet): L0Origin {
  const { scheme, host } = ask
  if (PROXY_FIELDS.every((name) => ask.field(name) === undefined)) return { scheme, host }
  return clientOf({ scheme, host, remoteAddress: ask.remoteAddress(), headers: ask.fieldList() }, trusted)
}

/** A part of a stored body. */
interface Part {
  readonly head: ResponseHead
  readonly body: Uint8Array
}

/**
 * The response to a request for one range of a stored body (RFC 9110 section 14.2). Undefined: it has no ranges, or several or
 * none of them are requested, which the pipeline answers.
 */
export function partOf(entry: Pick<L0Entry<unknown>, 'head' | 'body'>, range: string): Part | undefined {
  if (!entry.head.hasRanges || entry.head.ages) return undefined
  const size = entry.body.byteLength
  const ranges = parseRange(range, size)
  const [first] = ranges
  if (typeof ranges === 'string' || ranges.length !== 1 || first === undefined || typeof first === 'string') return undefined
  const { headers } = entry.head.after(0)
  return {
    head: { status: 206, headers: [...headers, ['content-range', contentRange(first, size)]] },
    body: entry.body.subarray(first.start, first.end + 1),
  }
}
