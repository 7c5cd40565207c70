import * as z from 'zod/mini'
import type { ControlPlane, EntryLayer, EntryQuery } from '../../../contract/control-plane.ts'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { requireSite } from '../../../contract/own-sites.ts'
import { success, text, urlPath } from '../../../contract/schemas.ts'

const layers = ['isr', 'proxy', 'l0'] as const
/** Entries of a page, and the most pages of a layer that are read. */
const PAGE = 500
const MAX_PAGES = 20

interface Count {
  readonly entries: number
  readonly bytes: number
  readonly is_partial: boolean
}

/** Counts the entries of a layer, a bounded number of them. */
async function countOf(
  { entries }: Pick<ControlPlane, 'entries'>,
  query: Omit<EntryQuery, 'limit' | 'cursor'>,
  path: string | undefined,
): Promise<Count> {
  const sum = { entries: 0, bytes: 0 }
  let cursor: string | null = null
  let isMissing = false
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await entries.list({ ...query, limit: PAGE, ...(cursor === null ? {} : { cursor }) })
    // The sites are others since the page before.
    if (found === undefined) break
    for (const entry of found.entries) {
      if (path !== undefined && entry.path !== path) continue
      sum.entries++
      sum.bytes += entry.bytes
    }
    isMissing ||= found.missing.length > 0
    cursor = found.cursor
    if (cursor === null) break
  }
  return { ...sum, is_partial: isMissing || cursor !== null }
}

const count = () => z.object({ entries: z.int(), bytes: z.int(), is_partial: z.boolean() })

export const cacheCount = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/cache/count',
  group: 'admin',
  access: 'viewer',
  summary: 'Counts the entries that a purge would drop, by layer.',
  query: () =>
    z.strictObject({
      site: z.optional(text('Id of a site.')),
      tag: z.optional(text('Tag: `route:<label>:<name>`, or `<name>` on every site.')),
      path: z.optional(urlPath('The whole path, with all queries.')),
    }),
  response: () => success({ isr: count(), proxy: count(), l0: count() }),
  async handle(plane, { query: { site, tag, path } }) {
    const labels = site === undefined ? undefined : [requireSite(plane.sites, site).label]
    const of = (layer: EntryLayer) => countOf(plane, { layer, labels, tag, prefix: path }, path)
    const [isr, proxy, l0] = await Promise.all(layers.map(of))
    return ok({ isr, proxy, l0 })
  },
})
