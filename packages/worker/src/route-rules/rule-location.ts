import type { ProxySpec } from '@svc/vhosts'
import { plainCache } from '../proxy-cache/index.ts'

const TIMEOUT_MS = 60_000

/** A URL of an upstream: scheme, host and port or the path of a unix socket, and the path below which everything lies. */
interface UpstreamUrl {
  readonly scheme: 'http' | 'https'
  /** `user:password`, by which this server makes itself known; undefined: it does not. */
  readonly user: string | undefined
  readonly host: string
  readonly path: string
}

/**
 * Turns the upstream of a rule into the content of a location. Responses are cached, WebSockets are passed on, and the upstream
 * gets the client, scheme and host in X-Forwarded-For, -Proto and -Host.
 * @param upstream URL, or name of an upstream
 * @param stripped prefix that is left out of the path, where it begins with it, without a final slash; "" for none
 */
export function ruleContent(upstream: string, stripped: string): { readonly kind: 'proxy' } & ProxySpec {
  const { scheme, user, host, path } = parseUpstream(upstream)
  const isChanged = stripped !== '' || path !== '/'
  return {
    kind: 'proxy',
    scheme,
    target: { kind: 'fixed', upstream: addressOf(host, scheme, upstream), host },
    uri: isChanged ? [path] : undefined,
    connectMs: TIMEOUT_MS,
    readMs: TIMEOUT_MS,
    sendMs: TIMEOUT_MS,
    setHeaders: [
      { name: 'x-forwarded-for', value: [{ variable: 'proxy_add_x_forwarded_for' }] },
      { name: 'x-forwarded-proto', value: [{ variable: 'scheme' }] },
      { name: 'x-forwarded-host', value: [{ variable: 'http_host' }] },
      { name: 'upgrade', value: ['websocket'] },
      { name: 'connection', value: ['upgrade'] },
      ...(user === undefined ? [] : [{ name: 'authorization', value: [`Basic ${Buffer.from(user).toString('base64')}`] }]),
    ],
    httpVersion: '1.1',
    isBuffered: true,
    // Unlike proxy_pass, which follows nginx: the URL names the host. A socket has no name.
    isVerified: !host.startsWith('unix:'),
    nextUpstream: ['error', 'timeout'],
    redirects: 'default',
    hideHeaders: [],
    cache: plainCache,
  }
}

/** Text that is not a URL is the name of a group. */
function parseUpstream(upstream: string): UpstreamUrl {
  const [, unixScheme, socket, base = ''] = /^(https?):\/\/(unix:[^:]+)(?::(.*))?$/.exec(upstream) ?? []
  if (socket !== undefined)
    return { scheme: schemeOf(`${unixScheme}:`), user: undefined, host: socket, path: below(new URL(`http://socket${base}`)) }
  const url = upstream.includes('://') ? URL.parse(upstream) : null
  if (url === null) return { scheme: 'http', user: undefined, host: upstream, path: '/' }
  const { protocol, username, password, host } = url
  const user = username === '' && password === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { scheme: schemeOf(protocol), user, host, path: below(url) }
}

function schemeOf(protocol: string): 'http' | 'https' {
  return protocol === 'https:' ? 'https' : 'http'
}

/** A path below which others lie, as it is sent. */
function below({ pathname }: URL): string {
  return pathname.endsWith('/') ? pathname : `${pathname}/`
}

/** Name of the group of servers, or an address with its port. */
function addressOf(host: string, scheme: 'http' | 'https', upstream: string): string {
  if (host === upstream || host.startsWith('unix:') || /:\d+$/.test(host)) return host
  return `${host}:${scheme === 'https' ? 443 : 80}`
}
