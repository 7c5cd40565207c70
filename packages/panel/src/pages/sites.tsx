import { useParameter } from '../address/router.ts'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Link } from '../components/link.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import { Status, toneOf } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { type SiteFacts, type SitePage, sitePath } from '../data/answers.ts'
import { usePages } from '../data/use-pages.ts'
import { counted } from '../format/quantity.ts'

const EVERY_MS = 15_000

const columns: readonly Column<SiteFacts>[] = [
  { name: 'id', title: 'Site', sortBy: ({ id }) => id, cell: ({ id }) => <Link href={sitePath(id)}>{id}</Link> },
  {
    name: 'state',
    title: 'State',
    sortBy: ({ state }) => state,
    cell: ({ state }) => <Status tone={toneOf(state)}>{state}</Status>,
  },
  {
    name: 'hosts',
    title: 'Host names',
    cell: ({ hostnames }) => <span title={hostnames.join('\n')}>{hostnames.join(', ')}</span>,
  },
  {
    name: 'tenant',
    title: 'Tenant',
    sortBy: ({ tenant }) => tenant ?? '',
    cell: ({ tenant }) => tenant ?? 'none',
    isMinor: true,
  },
  { name: 'process', title: 'Process', sortBy: ({ process }) => process, cell: ({ process }) => process, isMinor: true },
  { name: 'root', title: 'Root', cell: ({ root }) => <code title={root}>{root}</code>, isMinor: true },
]

const states = [
  ['', 'all'],
  ['ok', 'ok'],
  ['starting', 'starting'],
  ['maintenance', 'maintenance'],
  ['degraded', 'degraded'],
] as const

/** All sites, found by a part of their name, host or tenant. */
export default function Sites() {
  const [q] = useParameter('q')
  const [state] = useParameter('state')
  const query = { q: q.trim(), state }
  const sites = usePages('/admin/api/sites', (page: SitePage) => page.sites, { query, everyMs: EVERY_MS, keepsRows: true })
  return (
    <Section
      title="All sites"
      tools={
        <Filters label="Sites">
          <TextFilter name="q" label="Contains" />
          <ChoiceFilter name="state" label="State" choices={states} />
        </Filters>
      }
    >
      <Loaded resource={sites} doing="load the sites" rows={8}>
        {({ first: { total, all }, rows }) => (
          <>
            <p role="status">{total === all ? counted(all, 'site') : `${total} of ${counted(all, 'site')}`}</p>
            <Table
              label="Sites"
              columns={columns}
              rows={rows}
              more={sites.more}
              keyOf={({ id }) => id}
              empty={
                all === 0 ? (
                  <Empty title="There are no sites.">
                    Add <code>[[sites]]</code> to the configuration and reload it, or run <code>svc add</code>.
                  </Empty>
                ) : (
                  <Empty title="No site matches the filters.">Clear them to see all.</Empty>
                )
              }
            />
          </>
        )}
      </Loaded>
    </Section>
  )
}
