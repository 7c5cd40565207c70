import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { labelOf, nothingSelected, ordersOf, selectionFields } from '../cache-selection.ts'
import { purgeOutcomeOf } from '../purge-answer.ts'

export const revalidate = endpoint({
  method: 'POST',
  path: '/__svc/api/revalidate',
  group: 'api',
  access: 'loopback',
  summary: 'Marks responses as stale, renders up to 1,000 stored pages again.',
  body: () => z.strictObject(selectionFields()),
  response: () => success({ queued: z.int() }),
  async handle(plane, { body }) {
    if (Object.keys(body).length === 0) return nothingSelected(['host', 'site', 'tags', 'paths'])
    const { host, site, tags, paths } = body
    const label = labelOf(plane, body)
    const isOfNoSite = label === undefined && (host ?? site) !== undefined
    // Before they are marked: pages that are stored meanwhile are new.
    const labels = label === undefined ? undefined : [label]
    const pages = isOfNoSite ? [] : await plane.pages.stored({ labels, tags, paths })
    await purgeOutcomeOf(plane, ordersOf(plane, body, 'stale'))
    return ok({ queued: plane.pages.render(pages) })
  },
})
