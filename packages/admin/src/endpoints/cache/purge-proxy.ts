import * as z from 'zod/mini'
import { endpoint } from '../../contract/endpoint.ts'
import { list, text, urlPath } from '../../contract/schemas.ts'
import { purgeLayer, purgeResponse } from '../purge-answer.ts'

export const purgeProxy = endpoint({
  method: 'POST',
  path: '/__svc/cache/purge-proxy',
  group: 'cache',
  access: 'loopback',
  isForTenants: true,
  summary: 'Drops entries of the proxy cache of a host.',
  body: () =>
    z.strictObject({
      host: text('Host name, with or without port.'),
      paths: z.optional(list(urlPath('URL path'), 'URL paths, with all queries.')),
      prefixes: z.optional(list(urlPath('Prefix'), 'Prefixes of URL paths.')),
    }),
  response: purgeResponse,
  handle(plane, { body }) {
    const { paths, prefixes } = body
    const hosts = [body.host]
    if (paths === undefined && prefixes === undefined) return purgeLayer(plane, 'proxy', [{ kind: 'hosts', hosts }], body)
    const scopes = [
      { kind: 'paths', paths: paths ?? [], hosts },
      { kind: 'prefixes', prefixes: prefixes ?? [], hosts },
    ] as const
    return purgeLayer(plane, 'proxy', scopes, body)
  },
})
