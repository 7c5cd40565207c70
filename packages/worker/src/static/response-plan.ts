import {
  type ByteRange,
  contentRange,
  equalStrongly,
  evaluateConditions,
  formatHttpDate,
  type HeaderList,
  type HttpRequest,
  isRangeCurrent,
  parseRange,
  planMultipart,
  type ResponseHead,
  rangeLength,
  unsatisfiedContentRange,
} from '@svc/http'
import { chooseVariant, contentFields, type StaticResource, type Variant, validatorFields } from './variant.ts'

/** A piece of a body: bytes as they are, or a part of the file. */
export type BodyPiece = Uint8Array | ByteRange

/** The file, or parts of it, are to be sent. */
export interface ContentPlan {
  readonly kind: 'content'
  readonly head: ResponseHead
  readonly variant: Variant
  readonly pieces: readonly BodyPiece[]
  readonly length: number
}

/** The response to a request for a file. */
export type ResponsePlan =
  | ContentPlan
  | { readonly kind: 'not-modified'; readonly head: ResponseHead }
  | { readonly kind: 'bad-method'; readonly headers: HeaderList }
  | { readonly kind: 'precondition-failed'; readonly headers: HeaderList }
  | { readonly kind: 'unsatisfiable'; readonly headers: HeaderList }

type FileRequest = Pick<HttpRequest, 'method' | 'header'>

/**
 * Decides on the response to a request for a file: method, then conditions first, then ranges (RFC 9110 section 13.2.2).
 * @param boundary makes the boundary of a body with several ranges
 */
export function planResponse(
  request: FileRequest,
  resource: StaticResource,
  nowMs: number,
  boundary: () => string,
): ResponsePlan {
  if (request.method !== 'GET' && request.method !== 'HEAD') return { kind: 'bad-method', headers: [['allow', 'GET, HEAD']] }
  const range = request.method === 'GET' ? request.header('range') : undefined
  const variant = variantFor(request, resource, range, nowMs)
  const { version } = variant
  const shared = sharedFields(resource, variant, nowMs)
  const validators = resource.hasEtag === false ? { ...version, etag: undefined } : version
  const outcome = evaluateConditions(request, validators)
  if (outcome === 'precondition-failed') return { kind: 'precondition-failed', headers: [] }
  if (outcome === 'not-modified') return { kind: 'not-modified', head: { status: 304, headers: shared } }
  const headers = wholeFields(resource, variant, shared)
  const isPartial =
    range !== undefined &&
    mayBeCut(range, version.size, resource) &&
    isRangeCurrent(request.header('if-range'), validators, nowMs)
  const ranges = isPartial ? parseRange(range, version.size) : 'ignore'
  if (ranges === 'unsatisfiable')
    return { kind: 'unsatisfiable', headers: [['content-range', unsatisfiedContentRange(version.size)], ...shared] }
  if (ranges === 'ignore') return wholeContent(headers, variant)
  return partialContent(headers, variant, ranges, resource.contentType, boundary)
}

/** The response to a plain GET with these fields, whatever else the request contains. */
export function planWhole(request: Pick<FileRequest, 'header'>, resource: StaticResource, nowMs: number): ContentPlan {
  const variant = chooseVariant(resource, request.header('accept-encoding'))
  return wholeContent(wholeFields(resource, variant, sharedFields(resource, variant, nowMs)), variant)
}

/** A file from the future must not look newer than the response (RFC 9110 section 8.8.2.1). */
function sharedFields(resource: StaticResource, variant: Variant, nowMs: number): HeaderList {
  const { lastModified, lastModifiedMs } = variant.version
  return validatorFields(resource, variant, lastModifiedMs <= nowMs ? lastModified : formatHttpDate(nowMs))
}

function wholeFields(resource: StaticResource, variant: Variant, shared: HeaderList): HeaderList {
  const fields = [...contentFields(resource, variant), ...shared]
  return resource.maxRanges === 0 ? fields : [...fields, ['accept-ranges', 'bytes']]
}

/** As with nginx, ranges that begin behind the end do not count. */
function mayBeCut(range: string, size: number, { maxRanges }: StaticResource): boolean {
  if (maxRanges === undefined || maxRanges === 0) return maxRanges === undefined
  const starts = range.split(',').map((spec) => Number(/(\d*)-/.exec(spec)?.[1] ?? 0))
  return starts.filter((start) => start < size).length <= maxRanges
}

/**
 * Parts are cut from the file as it is, since a part of a compressed stream is of use only to a client that has the rest of
 * the very same one: it says so by If-Range.
 */
function variantFor(request: FileRequest, resource: StaticResource, range: string | undefined, nowMs: number): Variant {
  const negotiated = chooseVariant(resource, request.header('accept-encoding'))
  if (range === undefined || negotiated === resource.identity) return negotiated
  const ifRange = request.header('if-range')
  if (ifRange !== undefined && equalStrongly(ifRange, negotiated.version.etag)) return negotiated
  return isRangeCurrent(ifRange, resource.identity.version, nowMs) ? resource.identity : negotiated
}

function wholeContent(headers: HeaderList, variant: Variant): ContentPlan {
  const { size } = variant.version
  const pieces = size === 0 ? [] : [{ start: 0, end: size - 1 }]
  return { kind: 'content', head: { status: 200, headers }, variant, pieces, length: size }
}

function partialContent(
  headers: HeaderList,
  variant: Variant,
  ranges: readonly ByteRange[],
  contentType: string,
  boundary: () => string,
): ResponsePlan {
  const { size } = variant.version
  const [first] = ranges
  if (ranges.length === 1 && first !== undefined) {
    const head = { status: 206, headers: [...headers, ['content-range', contentRange(first, size)] as const] }
    return { kind: 'content', head, variant, pieces: [first], length: rangeLength(first) }
  }
  const multipart = planMultipart(ranges, size, contentType, boundary())
  const others = headers.filter(([name]) => name !== 'content-type')
  const head = { status: 206, headers: [['content-type', multipart.contentType] as const, ...others] }
  const pieces = [...multipart.parts.flatMap((part) => [part.head, part.range]), multipart.tail]
  return { kind: 'content', head, variant, pieces, length: multipart.length }
}
