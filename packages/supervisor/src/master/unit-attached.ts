import type { SiteConfig } from '@svc/config'
import { asError } from '@svc/core'
import type { MasterParts } from './parts.ts'

/**
 * Called when the unit of a site is about to serve. Its files were not watched while it was away, so this checks them for changes.
 * Never rejects.
 */
export async function unitAttached({ served, changes, spec, logger }: MasterParts, site: SiteConfig): Promise<void> {
  try {
    if (await served.isChanged(site, spec().config.env)) await changes.changed(site.id, [])
  } catch (error) {
    logger.error(
      { site: site.id, err: asError(error) },
      'failed to propagate the changes of a site from the time that its unit was away',
    )
  }
}
