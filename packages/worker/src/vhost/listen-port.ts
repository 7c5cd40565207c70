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
 * The absolute URL of a redirect to a path, with the port of the listen address where it is not that of the scheme. Where a
 * trusted proxy says how the client came, the URL is as the client sees it. Where the client named no host (HTTP/1.0), it is the
 * address of the server, else its name; the path alone where neither is known.
 */
export function absoluteLocation(context: RequestContext, path: string, serverName: string): string {
  const { client, exchange } = context
  const { scheme, host } = client
  if (host !== exchange.request.host || scheme !== exchange.request.scheme) {
    const seen = host || hostName(serverName)
    return seen === '' ? path : `${scheme}://${seen}${path}`
  }
  const port = portOf(context)
  const isUsual = port === undefined || port === (scheme === 'https' ? 443 : 80)
  const name = withoutPort(host) || inUrl(addressOf(context)) || hostName(serverName)
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
