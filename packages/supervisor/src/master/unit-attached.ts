import type { SiteConfig } from '@svc/config'
import { asError } from '@svc/core'
import type { MasterParts } from './parts.ts'

/**
 * The unit of a site serves. Nobody has watched the site's files while it was away: what has changed meanwhile is found now. Never
 * rejects.
 */
export async function unitAttached({ served, changes, surveys, spec, logger }: MasterParts, site: SiteConfig): Promise<void> {
  try {
    if (await served.isChanged(site, spec().config.env)) await changes.changed(site.id, [])
    else surveys.add(site.id)
  } catch (error) {
    logger.error({ site: site.id, err: asError(error) }, 'what changed of a site while its unit was away did not get everywhere')
  }
}
