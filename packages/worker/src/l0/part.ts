import type { L0Entry } from '@svc/cache'
import { contentRange, parseRange, type ResponseHead } from '@svc/http'

/** A part of a stored body. */
interface Part {
  readonly head: ResponseHead
  readonly body: Uint8Array
}

/**
 * The answer to a request for one range of what is stored (RFC 9110 section 14.2). Undefined: it has no ranges, or several or
 * none of them are asked for, which the pipeline answers.
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
