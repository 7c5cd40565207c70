import { hasApp, type SiteConfig } from '@svc/config'
import type { GenerationSpec } from '@svc/protocol'

/** The sites whose files the master watches: the unit of a site watches its own. */
export function watchedSites({ sites }: Pick<GenerationSpec, 'sites'>): SiteConfig[] {
  return sites.filter((site) => hasApp(site) && site.process !== 'own')
}
