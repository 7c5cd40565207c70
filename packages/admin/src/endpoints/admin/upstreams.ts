import type { UpstreamServer } from '@svc/protocol'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

/** `failing`: no worker sends it requests for now; `degraded`: some do. */
function stateOf({ is_down: isDown, avoided_by: avoidedBy }: UpstreamServer, workers: number): string {
  if (isDown) return 'down'
  if (avoidedBy === 0) return 'up'
  return avoidedBy < workers ? 'degraded' : 'failing'
}

export const upstreams = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/upstreams',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists upstream groups with the state of their servers.',
  response: () =>
    success({
      upstreams: z.array(
        z.object({
          name: z.string(),
          balance: z.string(),
          servers: z.array(
            z.object({
              id: z.string(),
              address: z.string(),
              weight: z.int(),
              is_backup: z.boolean(),
              state: z.enum(['up', 'degraded', 'failing', 'down']),
              in_flight: z.int(),
              failures: z.int(),
            }),
          ),
        }),
      ),
      workers: z.object({ answered: z.int(), total: z.int() }),
      is_partial: z.boolean(),
    }),
  async handle(plane) {
    const { groups, is_cut: isCut, answered, total } = await plane.fleet.upstreams()
    const listed = groups.map(({ servers, ...group }) => ({
      ...group,
      servers: servers.map((server) => {
        const { id, address, weight, is_backup, in_flight, failures } = server
        return { id, address, weight, is_backup, state: stateOf(server, answered), in_flight, failures }
      }),
    }))
    return ok({ upstreams: listed, workers: { answered, total }, is_partial: isCut || answered < total })
  },
})
