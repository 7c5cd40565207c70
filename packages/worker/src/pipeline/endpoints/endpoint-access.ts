import type { Endpoint } from '@svc/admin'
import { anonymous, type Caller, decideAccess, isLoopback, isOwnPage, machine } from '@svc/auth'
import type { Problem } from '@svc/http'
import type { RevocationList } from '../../access/revocation-list.ts'
import type { RequestContext } from '../../request/request-context.ts'

/** True if a request is for a host that belongs to the panel. */
export function isForPanelHost({ generation, client }: Pick<RequestContext, 'generation' | 'client'>): boolean {
  return generation.config.admin.enabled && generation.isAdminHost(client.host)
}

/** True if a request comes from the machine itself. */
export function isFromMachine(context: RequestContext): boolean {
  const { request, generation } = context
  const { remoteAddress, connection, host, headers } = request
  const facts = {
    isControlSocket: false,
    peerAddress: remoteAddress,
    isProxied: connection?.proxied !== undefined,
    host,
    headers,
  }
  return isLoopback(facts, {
    trustsTcp: generation.config.server.loopback_trust,
    isTrustedProxy: (address) => generation.trustedProxies.contains(address),
    isSiteHost: (hostname) => {
      const match = generation.matchHost(hostname)
      return match !== undefined && match.kind !== 'default'
    },
    isPanelHost: isForPanelHost(context),
  })
}

/** The sender of a request to an endpoint. For what the machine itself may do, its requests need no credentials. */
export function callerOf(context: RequestContext, { access }: Endpoint, revocations: RevocationList): Caller | Promise<Caller> {
  if (access === 'open') return anonymous
  if (access === 'loopback' && isFromMachine(context)) return machine
  return identify(context, revocations)
}

/** The sender by the credentials of the request alone. */
export function identify({ request, client, generation }: RequestContext, revocations: RevocationList): Promise<Caller> {
  const mayUseCookie = generation.isAdminHost(client.host)
  return generation.authenticator.identify(request.headers, mayUseCookie, revocations)
}

/** Advice for a request whose credentials do not count. */
const credentialAdvice = {
  none: 'log in, or send a bearer token',
  ended: 'the token has expired or was revoked, or its user was removed: log in again',
  of_two_users:
    'there are session cookies of two users: delete the cookies of this host and its parent domains; a page of another host may have set one',
} as const

/** Why a caller must not call an endpoint with this request; undefined: it may. */
export function refusalOf({ request, client }: RequestContext, endpoint: Endpoint, caller: Caller): Problem | undefined {
  const { access, isForTenants = access === 'viewer' || access === 'tenant_admin' } = endpoint
  const decision = decideAccess({ access, isForTenants }, caller)
  if (decision === 401) {
    const detail = credentialAdvice[caller.kind === 'anonymous' ? caller.token : 'none']
    return { status: 401, code: 'unauthorized', detail }
  }
  if (decision === 403) return { status: 403, code: 'forbidden', detail: `the role ${roleOf(caller)} may not do this` }
  if (caller.kind !== 'user' || caller.by === 'bearer') return undefined
  const { method, headers } = request
  if (isOwnPage({ method, scheme: client.scheme, host: client.host, headers })) return undefined
  const detail = 'a change by session cookie needs the own origin in Origin, and the field X-Svc-Request: 1'
  return { status: 403, code: 'cross_site', detail }
}

function roleOf(caller: Caller): string {
  return caller.kind === 'user' ? caller.user.role : caller.kind
}
