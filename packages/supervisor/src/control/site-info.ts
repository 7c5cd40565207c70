import { hasApp, type SiteConfig } from '@svc/config'
import { SupervisorError } from '@svc/processes'
import type { HostEndpoint, SiteManifestInfo, SiteStatus, SiteSurvey } from '@svc/protocol'

/** Describes sites for listings. */
export function siteStatuses(
  sites: readonly SiteConfig[],
  hosts: readonly HostEndpoint[],
  quarantined: readonly string[],
  problemsOf: (site: string) => number = () => 0,
): SiteStatus[] {
  const isServed = (id: string) => {
    const own = hosts.find(({ sites }) => sites !== '*' && sites.includes(id))
    // An absent host has no token.
    return own === undefined ? hosts.some(({ sites, token }) => sites === '*' && token !== '') : own.token !== ''
  }
  const state = (site: SiteConfig) => {
    if (site.maintenance) return 'maintenance'
    if (!hasApp(site)) return 'ok'
    if (quarantined.includes(site.id)) return 'quarantined'
    return isServed(site.id) ? 'ok' : 'degraded'
  }
  return sites.map((site) => ({
    id: site.id,
    label: site.label,
    hostnames: [...site.hostnames],
    root: site.root,
    process: site.process,
    state: state(site),
    ...(problemsOf(site.id) === 0 ? {} : { problems: problemsOf(site.id) }),
  }))
}

/**
 * The routes and problems of a site.
 * @param survey queries the render host of a site
 * @throws SUP_UNKNOWN_SITE, and the error of the survey
 */
export async function siteManifestInfo(
  sites: readonly SiteConfig[],
  id: string,
  survey: (site: string) => Promise<SiteSurvey>,
): Promise<SiteManifestInfo> {
  const site = sites.find((candidate) => candidate.id === id)
  if (site === undefined) {
    throw new SupervisorError('SUP_UNKNOWN_SITE', `no site "${id}"; there are: ${sites.map((known) => known.id).join(', ')}`)
  }
  // Without an application, a server of a vhost file has no routes to list.
  if (!hasApp(site)) return { routes: [], problems: [] }
  const { routes, problems } = await survey(id)
  return { routes, problems: problems.map(({ text }) => text) }
}
