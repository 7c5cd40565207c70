import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { requireSite } from '../../../contract/own-sites.ts'
import { text } from '../../../contract/schemas.ts'
import { usernameOf } from '../../../contract/scope.ts'
import { releaseAnswer, releaseSuccess } from '../../release-answer.ts'

export const rollback = endpoint({
  method: 'POST',
  path: '/__svc/api/deploy/rollback',
  group: 'api',
  access: 'loopback',
  summary: 'Goes back to a release of a site.',
  body: () =>
    z.strictObject({
      site: text('Id of the site.'),
      release: z.optional(text('Id of the release; if it is left out, the one that was live before.')),
    }),
  response: releaseSuccess,
  handle(plane, { body: { site, release }, caller }) {
    const order = { site: requireSite(plane.sites, site).id, release, username: usernameOf(caller) }
    return releaseAnswer(plane.releases.rollback(order))
  },
})
