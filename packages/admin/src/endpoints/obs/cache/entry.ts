import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { text } from '../../../contract/schemas.ts'
import { entryAnswer, entryResponse, layer, requireEntry, unknownEntry } from '../../cache-entries.ts'

export const obsCacheEntry = endpoint({
  method: 'GET',
  path: '/__svc/obs/cache/entry',
  group: 'obs',
  access: 'viewer',
  summary: 'Shows a stored response without its body.',
  query: () => z.strictObject({ layer: layer(), key: text('Key, as the listing has it.', 32_768) }),
  response: entryResponse,
  async handle(plane, { query, caller }) {
    const entry = await requireEntry(plane, query.key)
    if (entry.layer !== query.layer) throw unknownEntry(query.key)
    return entryAnswer(plane, entry, { hasBody: false, caller })
  },
})
