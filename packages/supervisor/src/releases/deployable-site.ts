import { hasApp, type SiteConfig } from '@svc/config'
import { SupervisorError } from '@svc/processes'

/** Returns the site of an id. @throws SUP_UNKNOWN_SITE */
export function siteOf(sites: readonly SiteConfig[], id: string): SiteConfig {
  const site = sites.find((one) => one.id === id)
  if (site === undefined) throw new SupervisorError('SUP_UNKNOWN_SITE', `no site "${id}"`)
  return site
}

/** Returns a site that releases can be deployed to. @throws SUP_UNKNOWN_SITE, DEPLOY_UNSUPPORTED */
export function deployableSite(sites: readonly SiteConfig[], id: string): SiteConfig {
  const site = siteOf(sites, id)
  if (!hasApp(site)) throw new SupervisorError('DEPLOY_UNSUPPORTED', `${id} has no application`)
  if (site.process === 'own') {
    const remedy = 'change "root" in the configuration, reload, and give its user access to the new directory'
    throw new SupervisorError('DEPLOY_UNSUPPORTED', `${id} has a process of its own: ${remedy}`)
  }
  return site
}
