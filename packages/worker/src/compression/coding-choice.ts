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

/** What compression needs to know of a request. */
export type CodedRequest = Pick<HttpRequest, 'method' | 'header'>

/**
 * Decides how the body of a response is coded. Undefined: it is left alone, whatever the client accepts (no such type, coded
 * already, a part, no content, or `no-transform` on either side). `identity`: this client gets it as it is.
 */
export function chooseCoding(request: CodedRequest, head: ResponseHead): ContentCoding | undefined {
  if (head.status === 204 || head.status === 206 || head.status === 304) return undefined
  if (fieldOf(head.headers, 'content-encoding') !== undefined || fieldOf(head.headers, 'content-range') !== undefined)
    return undefined
  const type = fieldOf(head.headers, 'content-type')
  if (type === undefined || !isCompressibleType(type)) return undefined
  if (forbidsTransform(fieldOf(head.headers, 'cache-control')) || forbidsTransform(request.header('cache-control')))
    return undefined
  return encodingClass(request.header('accept-encoding'))
}

/** The head of a response that could be coded but is not: only says that it depends on Accept-Encoding. */
export function withVary(head: ResponseHead): ResponseHead {
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
export function codedHead(head: ResponseHead, coding: ContentCoding): ResponseHead {
  const headers: Array<readonly [string, string]> = [['content-encoding', coding]]
  for (const [name, value] of withVary(head).headers) {
    const lower = name.toLowerCase()
    if (lower === 'etag') headers.push([name, weaken(value)])
    else if (lower !== 'accept-ranges' && lower !== 'content-length') headers.push([name, value])
  }
  return { status: head.status, headers }
}

function forbidsTransform(cacheControl: string | undefined): boolean {
  return cacheControl?.toLowerCase().includes('no-transform') === true && parseCacheControl(cacheControl).noTransform
}

function fieldOf(headers: HeaderList, wanted: string): string | undefined {
  const values = headers.filter(([name]) => name === wanted || name.toLowerCase() === wanted).map(([, value]) => value)
  return values.length === 0 ? undefined : values.join(', ')
}
