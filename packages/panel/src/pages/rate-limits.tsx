import { ActionButton } from '../components/action-button.tsx'
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

interface Client {
  readonly client: string
  readonly requests: number
  readonly refused: number
  readonly retry_after_secs: number
}

interface RateLimit extends ListPage {
  readonly enabled: boolean
  readonly budget: number
  readonly window_secs: number
  readonly distributed: boolean
  readonly counted: number
  readonly clients: readonly Client[]
}

function columnsFor(api: Api, budget: number, reload: () => void): readonly Column<Client>[] {
  return [
    { name: 'client', title: 'Client', sortBy: ({ client }) => client, cell: ({ client }) => <code>{client}</code> },
    {
      name: 'state',
      title: 'State',
      cell: ({ retry_after_secs: secs }) =>
        secs > 0 ? <Status tone="bad">refused</Status> : <Status tone="warning">near the limit</Status>,
    },
    {
      name: 'requests',
      title: 'Requests',
      isFigure: true,
      sortBy: ({ requests }) => requests,
      cell: ({ requests }) => <Quantity value={requests} unit="count" />,
    },
    {
      name: 'refused',
      title: 'Refused',
      isFigure: true,
      sortBy: ({ refused }) => refused,
      cell: ({ refused }) => <Quantity value={refused} unit="count" />,
    },
    {
      name: 'after',
      title: 'Retry after',
      isFigure: true,
      cell: ({ retry_after_secs: secs }) => <Quantity value={secs} unit="secs" />,
    },
    {
      name: 'unblock',
      title: 'Budget',
      isAction: true,
      cell: ({ client }) => (
        <ActionButton
          needs="super_admin"
          onDone={reload}
          action={{
            label: 'Reset',
            effect: `Forgets the requests that ${client} made: it may make ${counted(budget, 'request')} from now on.`,
            run: async () => {
              await api.send('DELETE', `/admin/api/rate-limit/${encodeURIComponent(client)}`)
              return `${client} has its whole budget again.`
            },
          }}
        />
      ),
    },
  ]
}

/** Clients that are near or over their budget. */
export default function RateLimits() {
  const { api } = useServices()
  const limit = usePages('/admin/api/rate-limit', ({ clients }: RateLimit) => clients, { everyMs: EVERY_MS })
  return (
    <Section title="Clients near the limit">
      <Loaded resource={limit} doing="load the clients">
        {({ first: { enabled, budget, window_secs: secs, distributed, counted: known }, rows }) => (
          <>
            <p>
              {enabled
                ? `Each client may make ${counted(budget, 'request')} in ${secs} s, counted ${distributed ? 'over all instances' : 'by this instance'}; ${counted(known, 'client')} counted now.`
                : 'Rate limiting is off: set rate_limit.enabled in the configuration.'}
            </p>
            <Table
              label="Clients near the limit"
              columns={columnsFor(api, budget, limit.reload)}
              rows={rows}
              more={limit.more}
              keyOf={({ client }) => client}
              empty={<Empty title="No client is near its limit.">Those that have used most of their budget appear here.</Empty>}
            />
          </>
        )}
      </Loaded>
    </Section>
  )
}
