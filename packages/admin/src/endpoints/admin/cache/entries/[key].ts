import * as z from 'zod/mini'
import type { PurgeOrder, StoredResponse } from '../../../../contract/control-plane.ts'
import { endpoint } from '../../../../contract/endpoint.ts'
import { digits, flag } from '../../../../contract/schemas.ts'
import { entryAnswer, entryResponse, MAX_BODY_BYTES, requireEntry } from '../../../cache-entries.ts'
import { purgeAnswer, purgeResponse } from '../../../purge-answer.ts'

const path = '/__svc/admin/api/cache/entries/:key'

export const cacheEntry = endpoint({
  method: 'GET',
  path,
  group: 'admin',
  access: 'viewer',
  summary: 'Shows a stored response; its body to a tenant_admin.',
  query: () =>
    z.strictObject({
      body: flag('1: with the beginning of its body.'),
      body_bytes: z.optional(digits('Bytes of the body; 1 MiB if it is left out.', 1, MAX_BODY_BYTES)),
    }),
  response: entryResponse,
  handle: async (plane, { params, query, caller }) =>
    entryAnswer(plane, await requireEntry(plane, params['key'] ?? ''), {
      hasBody: query.body === '1',
      maxBytes: query.body_bytes,
      caller,
    }),
})

/** Variants of a response go together: a client that gets another one would see the old content. */
function orderOf({ layer, label, host, path: ofEntry, uri }: StoredResponse): PurgeOrder {
  const hosts = layer === 'l0' && host !== null ? [host] : null
  const scope =
    uri === undefined ? ({ kind: 'paths', paths: [ofEntry], hosts } as const) : ({ kind: 'uris', uris: [uri] } as const)
  return { layers: [layer], scopes: [scope], mode: 'drop', labels: [label] }
}

export const dropCacheEntry = endpoint({
  method: 'DELETE',
  path,
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Drops a stored response with its variants.',
  response: purgeResponse,
  async handle(plane, { params }) {
    const entry = await requireEntry(plane, params['key'] ?? '')
    const outcome = await plane.purges.purge(orderOf(entry))
    return purgeAnswer({ layer: entry.layer, scope: { key: params['key'] }, outcome, tookMs: outcome.tookMs })
  },
})
