import { useMemo, useState } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import { useResource } from '../data/use-resource.ts'

const PAGE = 200

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

const columns: readonly Column<Entry>[] = [
  { name: 'at', title: 'Time', sortBy: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  { name: 'user', title: 'User', sortBy: ({ username }) => username, cell: ({ username }) => username },
  { name: 'action', title: 'Operation', sortBy: ({ action }) => action, cell: ({ action }) => <code>{action}</code> },
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

/** One page of the records; undefined cursor: the newest. */
function useRecords() {
  const [cursors, setCursors] = useState<readonly number[]>([])
  const cursor = cursors.at(-1)
  const records = useResource<{ readonly entries: readonly Entry[]; readonly cursor: number | null }>('/admin/api/audit', {
    query: { limit: PAGE, cursor },
  })
  return {
    records,
    isFirst: cursors.length === 0,
    older: (next: number) => setCursors([...cursors, next]),
    newer: () => setCursors(cursors.slice(0, -1)),
  }
}

/** Operations and denied attempts. */
export default function Audit() {
  const { records, isFirst, older, newer } = useRecords()
  const [user] = useParameter('user')
  const [text] = useParameter('q')
  const [result] = useParameter('result')
  const fits = useMemo(() => {
    const wanted = text.toLowerCase()
    return ({ username, action, target, result: had }: Entry) =>
      (user === '' || username === user) &&
      (result === '' || had === result) &&
      `${action} ${target}`.toLowerCase().includes(wanted)
  }, [user, text, result])
  return (
    <Section
      title="Operations"
      tools={
        <Filters label="Audit">
          <TextFilter name="user" label="User" isWhole />
          <TextFilter name="q" label="Operation or thing" />
          <ChoiceFilter name="result" label="Result" choices={results} />
        </Filters>
      }
    >
      <Loaded resource={records} doing="load the records" rows={8}>
        {({ entries, cursor }) => (
          <>
            <Table
              label="Operations"
              columns={columns}
              rows={entries.filter(fits)}
              keyOf={({ at, request_id: id, action }) => `${at} ${id} ${action}`}
              empty={<Empty title="No operation fits.">Filters look at the records of this page; older ones follow.</Empty>}
            />
            <div class="buttons">
              <button type="button" disabled={isFirst} onClick={newer}>
                Newer
              </button>
              <button type="button" disabled={cursor === null} onClick={() => cursor !== null && older(cursor)}>
                Older
              </button>
            </div>
          </>
        )}
      </Loaded>
    </Section>
  )
}
