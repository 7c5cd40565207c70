/** Header fields as a site gave them. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

/** Fields of the connection, which are the host's to set (RFC 9110 section 7.6.1), and `Host`. */
const forbidden = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const credentials = new Set(['authorization', 'cookie', 'cookie2'])
const ofBody = new Set(['content-encoding', 'content-language', 'content-location', 'content-type'])

/** Header fields that the host adds to every request of a site. */
interface HostFields {
  /** Value of CDN-Loop (RFC 8586): where the request that is being answered came through, then this instance. */
  readonly cdnLoop: string
  /** Fields that continue the trace of that request, unless the site has written its own. */
  readonly trace?: HeaderList | undefined
}

/** The fields that go out: the site's without those of the connection, and the host's own. */
export function outgoingHeaders(headers: HeaderList, { cdnLoop, trace }: HostFields): [string, string][] {
  const result: [string, string][] = []
  const names = new Set<string>()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (forbidden.has(lower) || lower === 'cdn-loop') continue
    names.add(lower)
    result.push([lower, value])
  }
  if (!names.has('accept')) result.push(['accept', '*/*'])
  if (!names.has('accept-encoding')) result.push(['accept-encoding', 'gzip, deflate, br'])
  if (!names.has('user-agent')) result.push(['user-agent', 'svc'])
  result.push(['cdn-loop', cdnLoop])
  if (trace !== undefined && !names.has('traceparent')) {
    for (const [name, value] of trace) if (!names.has(name)) result.push([name, value])
  }
  return result
}

/** A request after a redirect (fetch standard, "HTTP-redirect fetch"). */
interface Redirected {
  readonly method: string
  readonly headers: HeaderList
  readonly keepsBody: boolean
}

/** Rewrites method and fields for the next hop of a redirect. Credentials do not follow to another origin. */
export function redirectedRequest(status: number, method: string, headers: HeaderList, from: URL, to: URL): Redirected {
  const becomesGet = (status === 303 && method !== 'GET' && method !== 'HEAD') || (status < 303 && method === 'POST')
  const isOtherOrigin = from.origin !== to.origin
  const kept = headers.filter(([name]) => {
    const lower = name.toLowerCase()
    return !(becomesGet && ofBody.has(lower)) && !(isOtherOrigin && credentials.has(lower))
  })
  return { method: becomesGet ? 'GET' : method, headers: kept, keepsBody: !becomesGet }
}
