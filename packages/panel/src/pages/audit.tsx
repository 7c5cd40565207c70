import { useMemo, useState } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Pager } from '../components/pager.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import { useResource } from '../data/use-resource.ts'

const PAGE = 100
const HOUR_MS = 3_600_000

interface Entry {
  readonly at: string
  readonly username: string
  readonly address: string
  readonly action: string
  readonly target: string
  readonly result: 'ok' | 'denied' | 'failed'
  readonly detail: string
  readonly request_id: string
}

const results = [
  ['', 'all'],
  ['ok', 'ok'],
  ['denied', 'denied'],
  ['failed', 'failed'],
] as const

const times = [
  ['', 'any'],
  ['1', 'last hour'],
  ['24', 'last day'],
  ['168', 'last 7 days'],
] as const

/** An endpoint without the part that all have. */
function shortAction(action: string): string {
  return action.replace(/\/(?:__svc\/)?(?:admin\/)?api\//, '')
}

const columns: readonly Column<Entry>[] = [
  { name: 'at', title: 'Time', sortBy: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  { name: 'user', title: 'User', sortBy: ({ username }) => username, cell: ({ username }) => username },
  {
    name: 'action',
    title: 'Operation',
    sortBy: ({ action }) => action,
    cell: ({ action }) => <code title={action}>{shortAction(action)}</code>,
  },
  { name: 'target', title: 'On', cell: ({ target }) => <code title={target}>{target}</code> },
  {
    name: 'result',
    title: 'Result',
    sortBy: ({ result }) => result,
    cell: ({ result }) => <Status tone={result === 'ok' ? 'good' : result === 'denied' ? 'warning' : 'bad'}>{result}</Status>,
  },
  { name: 'detail', title: 'Reason', cell: ({ detail }) => <span title={detail}>{detail}</span>, isMinor: true },
  { name: 'address', title: 'Address', cell: ({ address }) => address, isMinor: true },
]

/** Operations and denied attempts. */
export default function Audit() {
  const [user] = useParameter('user')
  const [action] = useParameter('q')
  const [result] = useParameter('result')
  const [time] = useParameter('time')
  const filters = { user, action, result, time }
  return (
    <Section
      title="Operations"
      tools={
        <Filters label="Audit">
          <TextFilter name="user" label="User" isWhole />
          <TextFilter name="q" label="Operation or target" isWhole />
          <ChoiceFilter name="result" label="Result" choices={results} />
          <ChoiceFilter name="time" label="Time" choices={times} />
        </Filters>
      }
    >
      <Records key={JSON.stringify(filters)} filters={filters} />
    </Section>
  )
}

interface RecordsProps {
  readonly filters: Readonly<Record<'user' | 'action' | 'result' | 'time', string>>
}

/** Records of a selection, page by page. */
function Records({ filters: { time, ...filters } }: RecordsProps) {
  const [cursors, setCursors] = useState<readonly number[]>([])
  const since = useMemo(() => (time === '' ? undefined : new Date(Date.now() - Number(time) * HOUR_MS).toISOString()), [time])
  const query = { ...filters, since, limit: PAGE, cursor: cursors.at(-1) }
  const records = useResource<{ readonly entries: readonly Entry[]; readonly cursor: number | null }>('/admin/api/audit', {
    query,
  })
  return (
    <Loaded resource={records} doing="load the records" rows={8}>
      {({ entries, cursor }) => (
        <>
          <Table
            label="Operations"
            columns={columns}
            rows={entries}
            keyOf={({ at, request_id: id, action }) => `${at} ${id} ${action}`}
            empty={
              <Empty title="No operation matches.">
                {cursor === null ? 'Clear the filters to see all.' : 'Many records were read: older ones follow.'}
              </Empty>
            }
          />
          <Pager cursors={cursors} next={cursor} onCursors={setCursors} words={['Newer', 'Older']} />
        </>
      )}
    </Loaded>
  )
}
