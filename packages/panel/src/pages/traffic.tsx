import { useParameter } from '../address/router.ts'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter, windows } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { type Column, Table } from '../components/table.tsx'
import type { Analytics } from '../data/answers.ts'
import { useResource } from '../data/use-resource.ts'
import { useChanges } from '../panels/changes.tsx'
import { TrafficCharts } from '../panels/traffic-charts.tsx'

const EVERY_MS = 30_000

interface Counted {
  readonly name: string
  readonly count: number
}

function columnsFor(title: string, total: number): readonly Column<Counted>[] {
  return [
    { name: 'name', title, sortBy: ({ name }) => name, cell: ({ name }) => <span title={name}>{name || '(none)'}</span> },
    {
      name: 'count',
      title: 'Requests',
      isFigure: true,
      sortBy: ({ count }) => count,
      cell: ({ count }) => <Quantity value={count} unit="count" />,
    },
    {
      name: 'share',
      title: 'Share',
      isFigure: true,
      cell: ({ count }) => <Quantity value={total === 0 ? null : count / total} unit="ratio" />,
    },
  ]
}

/** Sums over the buckets of a window. */
function statusesOf({ buckets }: Analytics): readonly Counted[] {
  const sums = new Map<string, number>()
  for (const { status } of buckets) {
    for (const [name, count] of Object.entries(status)) sums.set(name, (sums.get(name) ?? 0) + count)
  }
  return Array.from(sums, ([name, count]) => ({ name, count })).sort((one, other) => one.name.localeCompare(other.name))
}

/** The traffic of a window of time: figures, and the paths, referrers and clients with most requests. */
export default function Traffic() {
  const [window] = useParameter('window', '1h')
  const [site] = useParameter('site')
  const traffic = useResource<Analytics>('/obs/analytics', { query: { window, site }, everyMs: EVERY_MS })
  const { marks } = useChanges(window)
  return (
    <>
      <Section
        title="Figures"
        tools={
          <Filters label="Traffic">
            <ChoiceFilter name="window" label="Time" choices={windows} />
            <TextFilter name="site" label="Site ID" isWhole />
          </Filters>
        }
      >
        <Loaded resource={traffic} doing="load the traffic" rows={6}>
          {(data) => <TrafficCharts analytics={data} marks={marks} />}
        </Loaded>
      </Section>
      <Loaded resource={traffic} doing="load the traffic" rows={6}>
        {(data) => <Tops data={data} />}
      </Loaded>
    </>
  )
}

function Tops({ data }: { readonly data: Analytics }) {
  const total = data.buckets.reduce((sum, { requests }) => sum + requests, 0)
  const bytes = data.buckets.reduce((sum, bucket) => sum + bucket.bytes, 0)
  const { paths, referrers, clients } = data.top
  const tables = [
    ['Status classes', 'Class', statusesOf(data)],
    ['Top paths', 'Path', paths],
    ['Top referrers', 'Referrer', referrers],
    ['Top clients', 'Address', clients],
  ] as const
  return (
    <>
      <p>
        <Quantity value={total} unit="count" /> requests, <Quantity value={bytes} unit="bytes" /> sent. The lists are of the names
        that were seen most; those of a busy server are estimates.
      </p>
      <div class="columns">
        {tables.map(([title, column, rows]) => (
          <Section key={title} title={title}>
            <Table
              label={title}
              columns={columnsFor(column, total)}
              rows={rows}
              keyOf={({ name }) => name}
              empty={<Empty title="No requests in this time.">They appear some seconds after the first request to a site.</Empty>}
              sortName={column.toLowerCase()}
            />
          </Section>
        ))}
      </div>
    </>
  )
}
