import * as z from 'zod/mini'
import type { ControlPlane } from '../../contract/control-plane.ts'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { requireSite } from '../../contract/own-sites.ts'
import { absolutePath, success, text } from '../../contract/schemas.ts'
import { usernameOf } from '../../contract/scope.ts'
import { releaseAnswer, releaseFields, releaseSuccess } from '../release-answer.ts'

export const deploy = endpoint({
  method: 'POST',
  path: '/__svc/api/deploy',
  group: 'api',
  access: 'loopback',
  summary: 'Prepares a release of a site and serves it in place of the one before.',
  body: () =>
    z.strictObject({
      site: text('Id of the site.'),
      source: absolutePath(
        'directory or .tar.gz',
        'Absolute path of a directory or .tar.gz, in `deploy.sources` or `<state_dir>/incoming`.',
      ),
    }),
  response: releaseSuccess,
  handle(plane, { body: { site, source }, caller }) {
    const order = { site: requireSite(plane.sites, site).id, source, username: usernameOf(caller) }
    return releaseAnswer(plane.releases.deploy(order))
  },
})

export const releases = endpoint({
  method: 'GET',
  path: '/__svc/api/deploy',
  group: 'api',
  access: 'loopback',
  summary: 'Lists the releases of a site, or of all sites, the latest first.',
  query: () => z.strictObject(releaseSelection()),
  response: () => success({ releases: z.array(z.extend(releaseFields(), { site: z.string() })) }),
  handle: async (plane, { query: { site } }) => ok({ releases: await releasesOf(plane, site) }),
})

/** The parameter that selects releases. */
export const releaseSelection = () => ({
  site: z.optional(text('Id of the site. Without it: all sites that the user may read.')),
})

/** @throws UNKNOWN_SITE */
export async function releasesOf(plane: ControlPlane, site: string | undefined) {
  const sites = site === undefined ? plane.sites.list() : [requireSite(plane.sites, site)]
  const listed = await plane.releases.list(sites.map(({ id }) => id))
  return listed.map(({ site: id, release }) => ({ ...release, site: id }))
}
