import * as z from 'zod/mini'
import type { ControlPlane, PurgeOrder } from '../contract/control-plane.ts'
import type { EndpointResult } from '../contract/endpoint.ts'
import { requireSite } from '../contract/own-sites.ts'
import { invalidField } from '../contract/refusals.ts'
import { list, text, urlPath } from '../contract/schemas.ts'

/** Selects cached responses: those of a site or host, and of these the ones with a tag, path or fitting pattern. */
interface CacheSelection {
  readonly host?: string | undefined
  readonly site?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly paths?: readonly string[] | undefined
  readonly pattern?: string | undefined
}

/** The fields of a request that selects cached responses. */
export const selectionFields = () => ({
  host: z.optional(text('Host name, with or without port: only responses for this host.')),
  site: z.optional(text('Id of a site: only its responses.')),
  tags: z.optional(list(text('Tag'), 'Tags: `route:<label>:<name>`, or `<name>` on every site.', 1_000)),
  paths: z.optional(list(urlPath('URL path'), 'URL paths, with all queries and encodings.', 10_000)),
})

/** The answer to a request that selects nothing. */
export function nothingSelected(fields: readonly string[]): EndpointResult {
  return invalidField('', `give at least one of: ${fields.join(', ')}`)
}

/** The label of the site that a selection is about. Undefined: it is about all. @throws UNKNOWN_SITE */
export function labelOf({ sites }: ControlPlane, { site, host }: CacheSelection): string | undefined {
  const id = site ?? (host === undefined ? undefined : sites.ofHost(host))
  return id === undefined ? undefined : requireSite(sites, id).label
}

/**
 * The purges of a selection, in all layers. The proxy cache and L0 know the host of each response. A stored page may be for all hosts of
 * its site, so a host selects the pages of the site that claims it. @throws UNKNOWN_SITE
 */
export function ordersOf(plane: ControlPlane, selection: CacheSelection, mode: PurgeOrder['mode']): PurgeOrder[] {
  const { host, tags, paths, pattern } = selection
  const label = labelOf(plane, selection)
  const bound = label === undefined ? {} : { labels: [label] }
  const isWhole = tags === undefined && paths === undefined && pattern === undefined
  const ofSite: PurgeOrder['scopes'] = [
    ...(tags === undefined ? [] : [{ kind: 'tags', tags } as const]),
    ...(paths === undefined ? [] : [{ kind: 'paths', paths, hosts: null } as const]),
    ...(pattern === undefined ? [] : [{ kind: 'pattern', pattern, labels: null } as const]),
    ...(isWhole ? [{ kind: 'labels', labels: bound.labels ?? [] } as const] : []),
  ]
  if (host === undefined) return [{ layers: ['l0', 'isr', 'proxy'], scopes: ofSite, mode, ...bound }]
  const hosts = [host]
  const ofHost: PurgeOrder['scopes'] = [
    ...(paths === undefined ? [] : [{ kind: 'paths', paths, hosts } as const]),
    ...(isWhole ? [{ kind: 'hosts', hosts } as const] : []),
  ]
  return [
    { layers: ['l0', 'proxy'], scopes: ofHost, mode, ...bound },
    ...(label === undefined ? [] : [{ layers: ['isr'], scopes: ofSite, mode, ...bound } as const]),
  ]
}
