import { RecentWeakMap } from '@svc/core'
import {
  type ContentCoding,
  encodingClass,
  type HeaderList,
  type HttpRequest,
  isCompressibleType,
  parseCacheControl,
  type ResponseHead,
  weaken,
} from '@svc/http'
import { type CompressionTerms, termsRequestOf } from './compression-terms.ts'

/** Input of the choice of a coding. */
export type CodedRequest = Pick<HttpRequest, 'method' | 'header' | 'httpVersion'>

/**
 * Decides how the body of a response is coded. Undefined: it is left alone, whatever the client accepts (no such type, coded
 * already, a part, no content, or `no-transform` on either side). `identity`: this client gets it as it is.
 * @param terms those of the place that answers. Default: those of the server.
 */
export function chooseCoding(request: CodedRequest, head: ResponseHead, terms?: CompressionTerms): ContentCoding | undefined {
  if (head.status === 204 || head.status === 206 || head.status === 304) return undefined
  if (terms === undefined ? !mayBeCoded(head.headers) : !terms.mayCode(head)) return undefined
  if (forbidsTransform(request.header('cache-control'))) return undefined
  if (terms !== undefined && !isAllowed(request, head, terms)) return 'identity'
  return encodingClass(request.header('accept-encoding'))
}

function isAllowed(request: CodedRequest, head: ResponseHead, terms: CompressionTerms): boolean {
  const asked = termsRequestOf(request)
  return terms.isLikeOthers(asked) || terms.excepts(asked, head)
}

/** Results for lists that are sent again and again, which their owners freeze: the cache changes only the time it takes. */
const codable = new RecentWeakMap<HeaderList, boolean>()
const varying = new RecentWeakMap<HeaderList, HeaderList>()

function mayBeCoded(headers: HeaderList): boolean {
  const known = codable.get(headers)
  if (known !== undefined) return known
  const found = isCodable(headers)
  if (Object.isFrozen(headers)) codable.set(headers, found)
  return found
}

function isCodable(headers: HeaderList): boolean {
  if (fieldOf(headers, 'content-encoding') !== undefined || fieldOf(headers, 'content-range') !== undefined) return false
  const type = fieldOf(headers, 'content-type')
  return type !== undefined && isCompressibleType(type) && !forbidsTransform(fieldOf(headers, 'cache-control'))
}

/** The head of a response that could be coded but is not: only says that it depends on Accept-Encoding, unless the terms forbid it. */
export function withVary(head: ResponseHead, terms?: CompressionTerms): ResponseHead {
  if (terms?.hasVary === false) return head
  const known = varying.get(head.headers)
  if (known !== undefined) return { status: head.status, headers: known }
  const varied = addVary(head)
  if (Object.isFrozen(head.headers)) varying.set(head.headers, Object.freeze(varied.headers))
  return varied
}

function addVary(head: ResponseHead): ResponseHead {
  const vary = head.headers.filter(([name]) => name.toLowerCase() === 'vary').map(([, value]) => value)
  const members = vary.flatMap((value) => value.split(',')).map((member) => member.trim().toLowerCase())
  if (members.includes('*') || members.includes('accept-encoding')) return head
  const others = head.headers.filter(([name]) => name.toLowerCase() !== 'vary')
  return { status: head.status, headers: [...others, ['vary', [...vary, 'Accept-Encoding'].join(', ')]] }
}

/**
 * The head of a coded response. A strong tag becomes weak, since the bytes are not those that it names (RFC 9110 section
 * 8.8.1), and ranges are not offered.
 */
export function codedHead(head: ResponseHead, coding: ContentCoding, terms?: CompressionTerms): ResponseHead {
  const headers: Array<readonly [string, string]> = [['content-encoding', coding]]
  for (const [name, value] of withVary(head, terms).headers) {
    const lower = name.toLowerCase()
    if (lower === 'etag') headers.push([name, weaken(value)])
    else if (lower !== 'accept-ranges' && lower !== 'content-length') headers.push([name, value])
  }
  return { status: head.status, headers }
}

function forbidsTransform(cacheControl: string | undefined): boolean {
  return cacheControl?.toLowerCase().includes('no-transform') === true && parseCacheControl(cacheControl).noTransform
}

/** Value of a field, by its name in lower case; several are joined. */
export function fieldOf(headers: HeaderList, wanted: string): string | undefined {
  const values = headers.filter(([name]) => name === wanted || name.toLowerCase() === wanted).map(([, value]) => value)
  return values.length === 0 ? undefined : values.join(', ')
}
