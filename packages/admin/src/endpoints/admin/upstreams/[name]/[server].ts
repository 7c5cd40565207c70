import * as z from 'zod/mini'
import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { success } from '../../../../contract/schemas.ts'
import { usernameOf } from '../../../../contract/scope.ts'

export const upstreamServer = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/upstreams/:name/:server',
  group: 'admin',
  access: 'super_admin',
  summary: 'Takes a server of a group out of service, or back.',
  body: () => z.strictObject({ down: z.boolean().check(z.describe('True: no request is sent to it.')) }),
  response: () => success({ upstream: z.string(), server: z.string(), down: z.boolean() }),
  async handle(plane, { params: { name: upstream = '', server = '' }, body: { down }, caller }) {
    await plane.fleet.setServerDown({ upstream, server, down, username: usernameOf(caller) })
    return ok({ upstream, server, down })
  },
})
