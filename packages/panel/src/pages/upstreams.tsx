import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import type { Api } from '../data/api.ts'
import type { ListPage } from '../data/page-loader.ts'
import { useServices } from '../data/services.ts'
import { usePages } from '../data/use-pages.ts'
import { counted } from '../format/quantity.ts'

const EVERY_MS = 5_000

interface Server {
  readonly id: string
  readonly address: string
  readonly weight: number
  readonly is_backup: boolean
  readonly state: string
  readonly in_flight: number
  readonly failures: number
}

interface Group {
  readonly name: string
  readonly balance: string
  /** Servers that are not down. */
  readonly in_service: number
  readonly servers: readonly Server[]
}

interface Upstreams extends ListPage {
  readonly upstreams: readonly Group[]
  readonly workers: { readonly answered: number; readonly total: number }
  readonly is_partial: boolean
}

interface Member {
  readonly group: Group
  readonly server: Server
}

const tones = { up: 'good', degraded: 'warning', failing: 'bad', down: 'idle' } as const

function switchOf(api: Api, { group, server }: Member): Action {
  const down = server.state !== 'down'
  const others = group.in_service - (down ? 1 : 0)
  return {
    label: down ? 'Take down' : 'Put back',
    isDestructive: down,
    effect: down
      ? `Sends no more requests of ${group.name} to ${server.address}; ${counted(server.in_flight, 'request')} in flight go on. ${
          others === 0 ? 'No other server is left: requests get 502.' : `${counted(others, 'server')} remain.`
        } It survives reloads and restarts.`
      : `Sends requests of ${group.name} to ${server.address} again.`,
    run: async () => {
      const path = `/admin/api/upstreams/${encodeURIComponent(group.name)}/${encodeURIComponent(server.id)}`
      await api.send('PUT', path, { down })
      return `${server.address} is ${down ? 'down' : 'in service'}.`
    },
  }
}

function columnsFor(api: Api, reload: () => void): readonly Column<Member>[] {
  return [
    { name: 'group', title: 'Group', sortBy: ({ group }) => group.name, cell: ({ group }) => group.name },
    {
      name: 'server',
      title: 'Server',
      sortBy: ({ server }) => server.address,
      cell: ({ server }) => <code>{server.address}</code>,
    },
    {
      name: 'state',
      title: 'State',
      sortBy: ({ server }) => server.state,
      cell: ({ server: { state } }) => <Status tone={tones[state as keyof typeof tones] ?? 'idle'}>{state}</Status>,
    },
    {
      name: 'flight',
      title: 'In flight',
      isFigure: true,
      sortBy: ({ server }) => server.in_flight,
      cell: ({ server }) => <Quantity value={server.in_flight} unit="count" />,
    },
    {
      name: 'failures',
      title: 'Failures',
      isFigure: true,
      sortBy: ({ server }) => server.failures,
      cell: ({ server }) => <Quantity value={server.failures} unit="count" />,
    },
    {
      name: 'role',
      title: 'Role',
      isMinor: true,
      cell: ({ server, group }) => (server.is_backup ? 'backup' : `weight ${server.weight}, ${group.balance}`),
    },
    {
      name: 'switch',
      title: 'Service',
      isAction: true,
      cell: (member) => <ActionButton needs="super_admin" onDone={reload} action={switchOf(api, member)} />,
    },
  ]
}

const membersOf = ({ upstreams }: Upstreams): readonly Member[] =>
  upstreams.flatMap((group) => group.servers.map((server) => ({ group, server })))

/** The servers of all upstream groups. */
export default function UpstreamsPage() {
  const { api } = useServices()
  const upstreams = usePages('/admin/api/upstreams', membersOf, { everyMs: EVERY_MS })
  return (
    <Section title="All servers">
      <Loaded resource={upstreams} doing="load the upstreams">
        {({ first: { workers, is_partial: isPartial }, rows }) => (
          <>
            {isPartial && (
              <p role="status">
                Not the whole state: {`${workers.answered} of ${counted(workers.total, 'worker')}`} answered, or the list is cut.
              </p>
            )}
            <Table
              label="Upstream servers"
              columns={columnsFor(api, upstreams.reload)}
              rows={rows}
              more={upstreams.more}
              keyOf={({ group, server }) => `${group.name} ${server.id}`}
              empty={
                <Empty title="There is no upstream.">
                  <code>proxy_pass</code> in a vhost file or <code>[[route_rules]]</code> with an upstream adds one.
                </Empty>
              }
            />
          </>
        )}
      </Loaded>
    </Section>
  )
}
