import * as z from 'zod/mini'
import { endpoint } from '../../contract/endpoint.ts'
import { absolutePath, list } from '../../contract/schemas.ts'
import { purgeAnswer, purgeResponse } from '../purge-answer.ts'

export const purgeModules = endpoint({
  method: 'POST',
  path: '/__svc/cache/purge-modules',
  group: 'cache',
  access: 'loopback',
  summary: 'Drops compiled modules, in isolates and on disk.',
  body: () =>
    z.strictObject({
      paths: z.optional(list(absolutePath('file', 'Source file'), 'Source files; their importers are dropped too.')),
      site: z.optional(absolutePath('directory', 'Directory whose modules are dropped.')),
    }),
  response: purgeResponse,
  async handle(plane, { body }) {
    const startedAt = performance.now()
    const { paths, site: dir } = body
    let purged = 0
    // Both are given: the union. Neither: everything.
    if (dir !== undefined) purged += await plane.purges.purgeModules({ dir })
    if (paths !== undefined) purged += paths.length === 0 ? 0 : await plane.purges.purgeModules({ paths })
    if (dir === undefined && paths === undefined) purged = await plane.purges.purgeModules({})
    return purgeAnswer({ layer: 'modules', purged, scope: body, tookMs: performance.now() - startedAt })
  },
})
