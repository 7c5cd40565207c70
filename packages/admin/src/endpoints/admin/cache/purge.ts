import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { invalidField } from '../../../contract/refusals.ts'
import { text } from '../../../contract/schemas.ts'
import { purgeLayer, purgeResponse } from '../../purge-answer.ts'

export const purgeByTag = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/cache/purge',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Drops rendered responses by tag or pattern of tags.',
  query: () =>
    z.strictObject({
      tag: z.optional(text('One tag: `route:<label>:<name>`, or `<name>` on every site.')),
      pattern: z.optional(text('A glob over tags: `route:<label>:*` is a site, `*` is everything.')),
    }),
  response: purgeResponse,
  handle(plane, { query }) {
    const { tag, pattern } = query
    if (tag !== undefined && pattern === undefined) return purgeLayer(plane, 'isr', [{ kind: 'tags', tags: [tag] }], query)
    if (pattern !== undefined && tag === undefined) {
      return purgeLayer(plane, 'isr', [{ kind: 'pattern', pattern, labels: null }], query)
    }
    return invalidField('tag', 'give either tag or pattern')
  },
})
