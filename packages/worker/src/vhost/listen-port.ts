import type { RequestContext } from '../pipeline/request-context.ts'

/** Port of the address that took a request; undefined for a unix socket. */
export function portOf({ generation, exchange }: RequestContext): number | undefined {
  const address = generation.spec.listen.find(({ name }) => name === exchange.request.listener)
  return address === undefined || address.socket !== undefined ? undefined : address.port
}

/**
 * The absolute URL of a redirect to a path, with the port of the listen address where it is not that of the scheme. Where a
 * trusted proxy says how the client came, the URL is as the client sees it.
 */
export function absoluteLocation(context: RequestContext, path: string, serverName: string): string {
  const { client, exchange } = context
  const { scheme, host } = client
  if (host !== exchange.request.host || scheme !== exchange.request.scheme) return `${scheme}://${host}${path}`
  const port = portOf(context)
  const isUsual = port === undefined || port === (scheme === 'https' ? 443 : 80)
  return `${scheme}://${withoutPort(host) || serverName}${isUsual ? '' : `:${port}`}${path}`
}

function withoutPort(host: string): string {
  const name = host.replace(/:\d*$/, '')
  return name.endsWith('.') ? name.slice(0, -1) : name
}
