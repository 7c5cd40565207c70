import * as z from 'zod/mini'
import type { ControlPlane, PurgeOrder } from '../../contract/control-plane.ts'
import { type EndpointResult, endpoint } from '../../contract/endpoint.ts'
import { list, text, urlPath } from '../../contract/schemas.ts'
import { AdminError } from '../../errors/errors.ts'
import { purgeLayer, purgeResponse } from '../purge-answer.ts'

const fields = () =>
  z.strictObject({
    paths: z.optional(list(urlPath('URL path'), 'URL paths, with all queries and encodings.')),
    host: z.optional(text('Host name, with or without port.')),
  })

type L0Purge = z.output<ReturnType<typeof fields>>

/** Of a host, paths of a host, paths of the site that was asked, paths of every host, or everything. */
export const purgeL0 = endpoint({
  method: 'POST',
  path: '/__svc/cache/purge-l0',
  group: 'cache',
  access: 'loopback',
  isForTenants: true,
  summary: 'Drops responses from the in-process cache of every worker.',
  body: fields,
  response: purgeResponse,
  handle(plane, { body, host, caller }) {
    // From elsewhere a tenant must name the host that it means; the API of the panel takes its sites together.
    if (caller.kind === 'user' && caller.user.role === 'tenant_admin' && body.host === undefined)
      throw new AdminError('NOT_FOR_TENANTS', { operation: 'purge without naming a host' })
    return purgeOf(plane, body, host)
  },
})

/** The same in the API of the panel. */
export const panelPurgeL0 = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/cache/purge-l0',
  group: 'admin',
  access: 'tenant_admin',
  summary: purgeL0.summary,
  body: fields,
  response: purgeResponse,
  handle: (plane, { body, host }) => purgeOf(plane, body, host),
})

function purgeOf(plane: ControlPlane, body: L0Purge, askedHost: string): Promise<EndpointResult> {
  const { paths, host } = body
  const hosts = host === undefined ? undefined : [host]
  const scopes: PurgeOrder['scopes'] =
    paths !== undefined
      ? [{ kind: 'paths', paths, hosts: hosts ?? plane.sites.hostsBeside(askedHost) ?? null }]
      : [hosts === undefined ? { kind: 'everything' } : { kind: 'hosts', hosts }]
  return purgeLayer(plane, 'l0', scopes, body)
}
