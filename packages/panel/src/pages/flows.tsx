import type { Flow } from '@svc/protocol'
import { useParameter } from '../address/router.ts'
import { CodeBlock } from '../components/code-block.tsx'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import { Waterfall } from '../components/waterfall.tsx'
import { useResource } from '../data/use-resource.ts'

const EVERY_MS = 10_000

const reasons = [
  ['', 'all'],
  ['slow', 'slow'],
  ['failed', 'failed'],
  ['sample', 'sample'],
] as const

function columnsFor(open: (id: string) => void): readonly Column<Flow>[] {
  return [
    { name: 'at', title: 'Time', sortBy: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
    {
      name: 'path',
      title: 'Request',
      sortBy: ({ path }) => path,
      cell: ({ method, path, request_id: id }) => (
        <button type="button" class="link" title={path} onClick={() => open(id)}>
          {method} {path}
        </button>
      ),
    },
    {
      name: 'status',
      title: 'Status',
      sortBy: ({ status }) => status,
      cell: ({ status }) => <Status tone={status >= 500 ? 'bad' : status >= 400 ? 'warning' : 'good'}>{status}</Status>,
    },
    {
      name: 'duration',
      title: 'Duration',
      isFigure: true,
      sortBy: ({ duration_ms: duration }) => duration,
      cell: ({ duration_ms: duration }) => <Quantity value={duration} unit="ms" />,
    },
    { name: 'site', title: 'Site', sortBy: ({ site }) => site, cell: ({ site }) => site, isMinor: true },
    { name: 'reason', title: 'Recorded as', sortBy: ({ reason }) => reason, cell: ({ reason }) => reason, isMinor: true },
  ]
}

/** Recorded requests, and the passage of one of them. */
export default function Flows() {
  const [site] = useParameter('site')
  const [reason] = useParameter('reason')
  const [request, open] = useParameter('request')
  const flows = useResource<{ readonly flows: readonly Flow[] }>('/admin/api/flows', {
    query: { site, reason, limit: 200 },
    everyMs: EVERY_MS,
  })
  return (
    <>
      {request !== '' && <OneFlow id={request} close={() => open('')} />}
      <Section
        title="Recorded requests"
        tools={
          <Filters label="Flows">
            <TextFilter name="site" label="Id of a site" />
            <ChoiceFilter name="reason" label="Recorded as" choices={reasons} />
          </Filters>
        }
      >
        <Loaded resource={flows} doing="load the recorded requests" rows={8}>
          {({ flows: rows }) => (
            <Table
              label="Recorded requests"
              columns={columnsFor(open)}
              rows={rows}
              keyOf={({ request_id: id }) => id}
              empty={
                <Empty title="No request is recorded.">
                  Slow and failed requests and a sample of the others appear here; <code>obs.slow_ms</code> sets the limit.
                </Empty>
              }
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}

function OneFlow({ id, close }: { readonly id: string; readonly close: () => void }) {
  const flow = useResource<Flow>(`/admin/api/flows/${encodeURIComponent(id)}`)
  const tools = (
    <button type="button" onClick={close}>
      Close
    </button>
  )
  return (
    <Section title="Request" tools={tools}>
      <Loaded resource={flow} doing={`load the request ${id}`}>
        {(data) => (
          <>
            <div class="table-box">
              <Waterfall label={`${data.method} ${data.path}: ${data.status}`} stages={data.stages} />
            </div>
            <CodeBlock label="Request as JSON" text={JSON.stringify(data, null, 2)} />
          </>
        )}
      </Loaded>
    </Section>
  )
}
