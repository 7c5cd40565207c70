import type { RedirectSpec } from '@svc/vhosts'
import type { RequestContext } from '../request/request-context.ts'

/** Port of the address that took a request; undefined for a unix socket. */
export function portOf({ generation, exchange }: RequestContext): number | undefined {
  const address = generation.spec.listen.find(({ name }) => name === exchange.request.listener)
  return address === undefined || address.socket !== undefined ? undefined : address.port
}

/** Address of its own that a request came to, as URLs have it; "" for a unix socket, and where every address is listened on. */
export function addressOf({ generation, exchange }: RequestContext): string {
  const address = generation.spec.listen.find(({ name }) => name === exchange.request.listener)
  if (address === undefined || address.socket !== undefined || EVERY_ADDRESS.includes(address.host)) return ''
  return address.host
}

const EVERY_ADDRESS = ['0.0.0.0', '::']

/**
 * The target of a redirect to a path: an absolute URL with the port of the listen address where it is not that of the scheme, as
 * `absolute_redirect`, `port_in_redirect` and `server_name_in_redirect` say. Where a trusted proxy says how the client came, the URL
 * is as the client sees it. Where the client named no host (HTTP/1.0), it is the address of the server, else its name; the path
 * alone where neither is known.
 */
export function redirectTarget(context: RequestContext, path: string, terms: RedirectSpec, serverName: string): string {
  if (!terms.isAbsolute) return path
  const { client, exchange } = context
  const { scheme, host } = client
  const ownName = terms.hasServerName ? hostName(serverName) : ''
  if (host !== exchange.request.host || scheme !== exchange.request.scheme) {
    const seen = ownName || host || hostName(serverName)
    return seen === '' ? path : `${scheme}://${seen}${path}`
  }
  const port = terms.hasPort ? portOf(context) : undefined
  const isUsual = port === undefined || port === (scheme === 'https' ? 443 : 80)
  const name = ownName || withoutPort(host) || inUrl(addressOf(context)) || hostName(serverName)
  return name === '' ? path : `${scheme}://${name}${isUsual ? '' : `:${port}`}${path}`
}

/** A server name that is a host: wildcards, patterns and "_" are none. */
function hostName(serverName: string): string {
  return /^[a-z0-9]/i.test(serverName) && !serverName.includes('*') ? serverName : ''
}

function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

function withoutPort(host: string): string {
  const name = host.replace(/:\d*$/, '')
  return name.endsWith('.') ? name.slice(0, -1) : name
}
