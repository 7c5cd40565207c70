import type { UpstreamServer, UpstreamSummary } from '@svc/protocol'
import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { cursorField, pageFields, pageOf } from '../../contract/pages.ts'
import { success } from '../../contract/schemas.ts'

type Group = UpstreamSummary['groups'][number]

/** `failing`: no worker sends it requests for now; `degraded`: some do. */
function stateOf({ is_down: isDown, avoided_by: avoidedBy }: UpstreamServer, workers: number): string {
  if (isDown) return 'down'
  if (avoidedBy === 0) return 'up'
  return avoidedBy < workers ? 'degraded' : 'failing'
}

interface Member {
  readonly group: { readonly name: string; readonly balance: string; readonly in_service: number }
  readonly server: { readonly id: string } | undefined
}

/** The servers of a group, each with the facts of the group. A group without servers is listed, too. */
function membersOf({ name, balance, servers }: Group, workers: number): readonly Member[] {
  const group = { name, balance, in_service: servers.filter(({ is_down: isDown }) => !isDown).length }
  const shown = servers.map((server) => {
    const { id, address, weight, is_backup, in_flight, failures } = server
    return { id, address, weight, is_backup, state: stateOf(server, workers), in_flight, failures }
  })
  return (shown.length === 0 ? [undefined] : shown).map((server) => ({ group, server }))
}

export const upstreams = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/upstreams',
  group: 'admin',
  access: 'super_admin',
  summary: 'Lists upstream groups with the state of their servers.',
  query: () => z.strictObject(pageFields()),
  response: () =>
    success({
      upstreams: z.array(
        z.object({
          name: z.string(),
          balance: z.string(),
          in_service: z.int().check(z.describe('Servers of the group that are not down, on this page or not.')),
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
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const { groups, is_cut: isCut, answered, total } = await plane.fleet.upstreams()
    // A group may have more servers than a page has room for: it goes on on the next one.
    const members = groups.flatMap((group) => membersOf(group, answered))
    const { rows, cursor } = pageOf(members, query, ({ group, server }) => JSON.stringify([group.name, server?.id]))
    const listed = Map.groupBy(rows, ({ group }) => group.name)
    const upstreams = Array.from(listed.values(), (own) => ({
      ...own[0]?.group,
      servers: own.flatMap(({ server }) => server ?? []),
    }))
    return ok({ upstreams, workers: { answered, total }, is_partial: isCut || answered < total, cursor })
  },
})
