import type { Flow } from '@svc/protocol'
import { useMemo } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import { CodeBlock } from '../components/code-block.tsx'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Link } from '../components/link.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { StreamStatus } from '../components/stream-status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import { Waterfall } from '../components/waterfall.tsx'
import type { ListPage } from '../data/page-loader.ts'
import { usePages } from '../data/use-pages.ts'
import { useResource } from '../data/use-resource.ts'
import { useReloadAfterGap, useStream } from '../data/use-stream.ts'
import { counted } from '../format/quantity.ts'
import { factsOf, Level, type Line } from '../panels/log-lines.tsx'

/** Those that were recorded while the page is open. */
const KEPT = 500

/** Requests of a page of the list. */
const LISTED = 80
const MINUTE_MS = 60_000

interface FlowPage extends ListPage {
  readonly flows: readonly Flow[]
  readonly is_partial: boolean
}

const times = [
  ['', 'any'],
  ['5', 'last 5 minutes'],
  ['60', 'last hour'],
  ['1440', 'last day'],
] as const

const reasons = [
  ['', 'all'],
  ['slow', 'slow'],
  ['failed', 'failed'],
  ['sample', 'sample'],
] as const

const following = [
  ['yes', 'on'],
  ['no', 'paused'],
] as const

/** New ones before those that were there, each once. */
function newestFirst(messages: readonly Flow[], rows: readonly Flow[]): readonly Flow[] {
  const ids = new Set(messages.map(({ request_id: id }) => id))
  return [...messages, ...rows.filter(({ request_id: id }) => !ids.has(id))]
}

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
  const [follow] = useParameter('follow', 'yes')
  const [time] = useParameter('time')
  const since = useMemo(() => (time === '' ? undefined : new Date(Date.now() - Number(time) * MINUTE_MS).toISOString()), [time])
  const flows = usePages('/admin/api/flows', (page: FlowPage) => page.flows, {
    query: { site, reason, since, limit: LISTED },
  })
  const isWanted = follow === 'yes'
  const { state, messages, missed } = useStream<Flow>('/admin/api/flows/stream', {
    query: { site, reason },
    keep: KEPT,
    isWanted,
  })
  useReloadAfterGap(state, flows.reload)
  return (
    <>
      {request !== '' && <OneFlow id={request} close={() => open('')} />}
      <Section
        title="Recorded requests"
        tools={
          <Filters label="Flows">
            <TextFilter name="site" label="Site ID" isWhole />
            <ChoiceFilter name="reason" label="Recorded as" choices={reasons} />
            <ChoiceFilter name="time" label="Time" choices={times} />
            <ChoiceFilter name="follow" label="Live updates" choices={following} />
          </Filters>
        }
      >
        <p role="status">
          {isWanted ? <StreamStatus state={state} /> : 'Paused'}
          {missed > 0 && ` ${counted(missed, 'request')} left out: they came too fast.`}
        </p>
        <Loaded resource={flows} doing="load the recorded requests" rows={8}>
          {({ first: { is_partial: isPartial }, rows }) => (
            <>
              {isPartial && (
                <p role="status">
                  <Status tone="warning">A worker did not answer in time: its requests are missing.</Status>
                </p>
              )}
              <Table
                label="Recorded requests"
                columns={columnsFor(open)}
                rows={newestFirst(messages, rows)}
                more={flows.more}
                keyOf={({ request_id: id }) => id}
                empty={
                  <Empty title="No request is recorded.">
                    Slow and failed requests and a sample of the others appear here; <code>obs.slow_ms</code> sets the limit.
                  </Empty>
                }
              />
            </>
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
            <p>
              <Link href={`/__svc/admin/logs?q=${encodeURIComponent(id)}`}>Log lines of this request</Link>
            </p>
            <LinesOf id={id} />
            <CodeBlock label="Request as JSON" text={JSON.stringify(data, null, 2)} />
          </>
        )}
      </Loaded>
    </Section>
  )
}

/** The log lines that name a request. */
function LinesOf({ id }: { readonly id: string }) {
  const lines = useResource<{ readonly lines: readonly Line[] }>('/obs/logs', { query: { q: id, limit: 20 } })
  return (
    <Loaded resource={lines} doing="load the log lines">
      {({ lines: rows }) =>
        rows.length === 0 ? (
          <p class="hint">No log line names this request.</p>
        ) : (
          <ul class="lines">
            {rows.map((line, index) => (
              <li key={index}>
                <Level level={line.level} /> {line.msg} <small>{factsOf(line)}</small>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  )
}
