import type { Action } from '../components/action-dialog.tsx'
import type { Api, Query } from '../data/api.ts'
import { counted, quantity } from '../format/quantity.ts'

/** The answer to a purge. */
export interface PurgeAnswer {
  readonly purged: number
  readonly also: Readonly<Record<string, number>>
  readonly workers: { readonly acked: number; readonly total: number }
}

/** The result of a purge in a sentence. */
export function purgeResult({ purged, also, workers }: PurgeAnswer, noun: string, plural?: string): string {
  const others = Object.values(also).reduce((sum, count) => sum + count, 0)
  const from = workers.total === 0 ? '' : `, ${workers.acked} of ${counted(workers.total, 'worker')} confirmed`
  const rest = others === 0 ? '' : ` and ${counted(others, 'entry', 'entries')} of other layers`
  return `Dropped ${counted(purged, noun, plural)}${rest}${from}.`
}

interface Count {
  readonly entries: number
  readonly bytes: number
  readonly is_partial: boolean
}

type Counts = Readonly<Record<'isr' | 'proxy' | 'l0', Count>>

const layers = [
  ['isr', 'page', 'pages'],
  ['proxy', 'upstream response', 'upstream responses'],
  ['l0', 'copy in the memory of workers', 'copies in the memory of workers'],
] as const

/** The entries that a purge would drop now, counted by the server. */
async function extentOf(api: Api, query: Query, about: string): Promise<string> {
  const counts = await api.get<Counts>('/admin/api/cache/count', query)
  const found = layers.filter(([layer]) => counts[layer].entries > 0)
  const texts = found.map(([layer, one, many]) => {
    const { entries, bytes, is_partial: isPartial } = counts[layer]
    return `${counted(entries, one, many)}${isPartial ? ' or more' : ''} (${quantity(bytes, 'bytes').text})`
  })
  if (texts.length === 0) return `No entry ${about} is stored now. Responses that are being made are not stored either.`
  return `Drops ${texts.join(', ')} ${about}. Each is made again at its next request.`
}

/** Drops the pages with a tag, and what other layers made of them; first it counts them. */
export function purgeTag(api: Api, tag: string): Action {
  return {
    label: 'Purge tag',
    isDestructive: true,
    effect: () => extentOf(api, { tag }, `with the tag ${tag}`),
    run: async () => purgeResult(await api.send<PurgeAnswer>('POST', '/admin/api/cache/purge', undefined, { tag }), 'page'),
  }
}

/** Drops a path of a site with all its queries from all layers; first it counts them. */
export function purgePath(api: Api, site: string, path: string): Action {
  return {
    label: 'Purge path',
    isDestructive: true,
    effect: () => extentOf(api, { site, path }, `of ${path} on ${site}, with all queries,`),
    run: async () => {
      const body = { site, paths: [path] }
      return purgeResult(await api.send<PurgeAnswer>('POST', '/admin/api/cache/invalidate', body), 'entry', 'entries')
    },
  }
}
