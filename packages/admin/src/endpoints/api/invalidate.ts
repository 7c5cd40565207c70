import * as z from 'zod/mini'
import { endpoint } from '../../contract/endpoint.ts'
import { text } from '../../contract/schemas.ts'
import { nothingSelected, ordersOf, selectionFields } from '../cache-selection.ts'
import { purgeAnswer, purgeOutcomeOf, purgeResponse } from '../purge-answer.ts'

export const invalidate = endpoint({
  method: 'POST',
  path: '/__svc/api/invalidate',
  group: 'api',
  access: 'loopback',
  summary: 'Drops responses from all cache layers; needs a field.',
  body: () =>
    z.strictObject({
      ...selectionFields(),
      pattern: z.optional(text('A glob over tags: `route:<label>:*` is a site, `*` is everything.')),
    }),
  response: purgeResponse,
  async handle(plane, { body }) {
    if (Object.keys(body).length === 0) return nothingSelected(['host', 'site', 'tags', 'paths', 'pattern'])
    const startedAt = performance.now()
    const outcome = await purgeOutcomeOf(plane, ordersOf(plane, body, 'drop'))
    const purged = outcome.l0 + outcome.isr + outcome.proxy
    return purgeAnswer({ layer: 'all', purged, scope: body, outcome, tookMs: performance.now() - startedAt })
  },
})
