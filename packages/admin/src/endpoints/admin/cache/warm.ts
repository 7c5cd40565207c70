import { normalizePath } from '@svc/http'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { requireSite } from '../../../contract/own-sites.ts'
import { list, success, text, urlPath } from '../../../contract/schemas.ts'

export const warmCache = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/cache/warm',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Renders pages into the store in the background.',
  body: () =>
    z.strictObject({ site: text('Id of the site.'), paths: list(urlPath('URL path'), 'URL paths, with queries.', 1_000) }),
  response: () => success({ queued: z.int() }),
  handle(plane, { body }) {
    const { id: site, hasApp } = requireSite(plane.sites, body.site)
    const pages = body.paths.flatMap((target) => {
      const [rawPath = '', ...query] = target.split('?')
      const path = normalizePath(rawPath)
      return path === undefined ? [] : { site, path, query: query.join('?') }
    })
    return ok({ queued: hasApp ? plane.pages.render(pages) : 0 }, 202)
  },
})
