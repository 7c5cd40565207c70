import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'
import { routeSchema, vhostSchema } from '../site-facts.ts'

export const router = endpoint({
  method: 'GET',
  path: '/__svc/debug/router',
  group: 'debug',
  access: 'loopback',
  summary: 'Lists sites with hosts and routes, and vhost servers with locations.',
  response: () =>
    success({
      generation: z.int(),
      sites: z.array(
        z.object({
          id: z.string(),
          label: z.string(),
          hostnames: z.array(z.string()),
          any_host: z.boolean(),
          root: z.string(),
          mode: z.string(),
          routes: z.nullable(z.array(routeSchema())),
          problems: z.array(z.string()),
        }),
      ),
      vhosts: z.array(vhostSchema()),
    }),
  async handle(plane) {
    const sites = plane.sites.list().map(async (site) => {
      const { id, label, hostnames, anyHost, root, mode, hasApp } = site
      // The files of one site may be unreadable just now; that is a fact about it, and no reason to hide the others.
      const found = hasApp ? await plane.sites.routes(id).catch(() => undefined) : { routes: null, problems: [] }
      const table = found === undefined ? { routes: null, problems: ['the files cannot be read'] } : found
      return { id, label, hostnames, any_host: anyHost, root, mode, ...table }
    })
    return ok({ generation: plane.sites.generation(), sites: await Promise.all(sites), vhosts: plane.sites.vhosts() })
  },
})
