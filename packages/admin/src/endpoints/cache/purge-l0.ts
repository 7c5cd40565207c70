import * as z from 'zod/mini'
import type { PurgeOrder } from '../../contract/control-plane.ts'
import { endpoint } from '../../contract/endpoint.ts'
import { list, text, urlPath } from '../../contract/schemas.ts'
import { purgeLayer, purgeResponse } from '../purge-answer.ts'

/** Of a host, paths of a host, paths of the site that was asked, paths of every host, or everything. */
export const purgeL0 = endpoint({
  method: 'POST',
  path: '/__svc/cache/purge-l0',
  group: 'cache',
  access: 'loopback',
  isForTenants: true,
  summary: 'Drops responses from the in-process cache of every worker.',
  body: () =>
    z.strictObject({
      paths: z.optional(list(urlPath('URL path'), 'URL paths, with all queries and encodings.')),
      host: z.optional(text('Host name, with or without port.')),
    }),
  response: purgeResponse,
  handle(plane, { body, host: askedHost }) {
    const { paths, host } = body
    const hosts = host === undefined ? undefined : [host]
    const scopes: PurgeOrder['scopes'] =
      paths !== undefined
        ? [{ kind: 'paths', paths, hosts: hosts ?? plane.sites.hostsBeside(askedHost) ?? null }]
        : [hosts === undefined ? { kind: 'everything' } : { kind: 'hosts', hosts }]
    return purgeLayer(plane, 'l0', scopes, body)
  },
})
