import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'
import { releaseSelection, releasesOf } from '../api/deploy.ts'
import { releaseFields } from '../release-answer.ts'

export const adminReleases = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/deploys',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the releases of a site, or of all sites, the latest first.',
  query: () => z.strictObject({ ...releaseSelection(), ...pageFields() }),
  response: () => success({ releases: z.array(rowOf(z.extend(releaseFields(), { site: z.string() }))), cursor: cursorField() }),
  async handle(plane, { query }) {
    const { rows, cursor } = pageOf(await releasesOf(plane, query.site), query, ({ site, id }) => JSON.stringify([site, id]))
    return ok({ releases: rows, cursor })
  },
})
