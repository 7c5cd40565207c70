import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { requireSite } from '../../../contract/own-sites.ts'
import { success, text } from '../../../contract/schemas.ts'
import { usernameOf } from '../../../contract/scope.ts'

export const upload = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/deploys/upload',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Stores a .tar.gz, to deploy the site from.',
  isUpload: true,
  query: () => z.strictObject({ site: text('Id of the site.') }),
  response: () => success({ file: z.string(), bytes: z.int(), sha256: z.string() }),
  async handle(plane, { query: { site }, content, caller }) {
    const order = { site: requireSite(plane.sites, site).id, username: usernameOf(caller) }
    return ok({ ...(await plane.releases.upload(order, content)) })
  },
})
