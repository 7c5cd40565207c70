import type { Endpoint } from '@svc/admin'
import { isLoopback } from '@svc/auth'
import type { RequestContext } from '../../request/request-context.ts'

/** Whether a request comes from the host itself. */
export function isFromHostItself({ request, generation }: RequestContext): boolean {
  const { remoteAddress, host, headers } = request
  const facts = { isControlSocket: false, peerAddress: remoteAddress, host, headers }
  return isLoopback(facts, {
    trustsTcp: generation.config.server.loopback_trust,
    isTrustedProxy: (address) => generation.trustedProxies.contains(address),
    isSiteHost: (hostname) => {
      const match = generation.matchHost(hostname)
      return match !== undefined && match.kind !== 'default'
    },
  })
}

/** Whether a request may call an endpoint. Nobody can show a role yet: the host itself alone stands in for one. */
export function mayCall(context: RequestContext, endpoint: Pick<Endpoint, 'access'>): boolean {
  return endpoint.access === 'open' || isFromHostItself(context)
}
