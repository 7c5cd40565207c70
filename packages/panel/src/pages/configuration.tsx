import type { ConfigValueFacts } from '@svc/protocol'
import { useState } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import { ActionButton } from '../components/action-button.tsx'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Pager } from '../components/pager.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import { useLast } from '../data/live-stream.ts'
import { useServices } from '../data/services.ts'
import { type Resource, useResource } from '../data/use-resource.ts'
import { counted } from '../format/quantity.ts'
import { reloadAction } from '../panels/reload-action.ts'

const PAGE = 100

const origins = [
  ['', 'anywhere'],
  ['file', 'a file'],
  ['environment', 'the environment'],
  ['option', 'the command line'],
  ['override', 'set at run time'],
  ['default', 'a default'],
] as const
const originTexts: Readonly<Record<ConfigValueFacts['origin'], string>> = {
  file: 'file',
  environment: 'environment',
  option: 'command line',
  default: 'default',
  override: 'set at run time',
}

const valueColumns: readonly Column<ConfigValueFacts>[] = [
  { name: 'key', title: 'Key', cell: ({ key }) => <code title={key}>{key}</code> },
  {
    name: 'value',
    title: 'Value',
    cell: ({ value, after_restart: next }) => (
      <>
        <code title={value}>{value}</code>
        {next !== null && <Status tone="warning">{`${next} after a restart`}</Status>}
      </>
    ),
  },
  {
    name: 'origin',
    title: 'From',
    cell: ({ origin }) => <Status tone={origin === 'override' ? 'warning' : 'idle'}>{originTexts[origin]}</Status>,
  },
  { name: 'place', title: 'Place', cell: ({ place }) => <span title={place}>{place}</span>, isMinor: true },
]

interface Diff {
  readonly sites: { readonly added: readonly string[]; readonly removed: readonly string[]; readonly changed: readonly string[] }
  readonly values: readonly ChangedValue[]
  readonly ending_overrides: readonly string[]
  readonly notices: readonly string[]
  readonly is_partial: boolean
}

interface ChangedValue {
  readonly key: string
  readonly before: string | null
  readonly after: string | null
  readonly needs_restart: boolean
}

const changeColumns: readonly Column<ChangedValue>[] = [
  { name: 'key', title: 'Key', sortBy: ({ key }) => key, cell: ({ key }) => <code title={key}>{key}</code> },
  { name: 'before', title: 'In service', cell: ({ before }) => <Side value={before} /> },
  { name: 'after', title: 'In the files', cell: ({ after }) => <Side value={after} /> },
  {
    name: 'when',
    title: 'Takes effect',
    cell: ({ needs_restart: isLate }) => (isLate ? <Status tone="warning">after a restart</Status> : 'with a reload'),
  },
]

function Side({ value }: { readonly value: string | null }) {
  return value === null ? <span>none</span> : <code title={value}>{value}</code>
}

/** The values in service with their sources, and the changes that a reload would make. */
export default function Configuration() {
  const diff = useResource<Diff>('/admin/api/config/diff')
  // Another generation has other values.
  const [reloads, setReloads] = useState(0)
  const done = () => {
    diff.reload()
    setReloads(reloads + 1)
  }
  return (
    <>
      <Reload diff={diff} onDone={done} />
      <Values key={reloads} />
    </>
  )
}

function Reload({ diff, onDone }: { readonly diff: Resource<Diff>; readonly onDone: () => void }) {
  const { api, summary } = useServices()
  const last = useLast(summary)?.instance?.last_reload
  return (
    <Section
      title="Files and the configuration in service"
      tools={
        <>
          <button type="button" onClick={diff.reload}>
            Compare again
          </button>
          <ActionButton needs="super_admin" action={reloadAction(api, diff.data)} onDone={onDone} />
        </>
      }
    >
      {last != null && (
        <p>
          Last reload: <Status tone={last.ok ? 'good' : 'bad'}>{last.ok ? 'ok' : 'failed'}</Status> <Time at={last.at} />
        </p>
      )}
      <Loaded resource={diff} doing="compare the files with the configuration in service">
        {(changes) => <Changes changes={changes} />}
      </Loaded>
    </Section>
  )
}

function Changes({ changes }: { readonly changes: Diff }) {
  const { sites, values, ending_overrides: ending, notices, is_partial: isPartial } = changes
  const lists = [
    ['Sites to add', sites.added],
    ['Sites to remove', sites.removed],
    ['Sites to change', sites.changed],
    ['Values set at run time that end', ending],
    ['Notices', notices],
  ] as const
  const shown = lists.filter(([, items]) => items.length > 0)
  if (shown.length === 0 && values.length === 0) {
    return (
      <Empty title="The files match the configuration in service.">
        Change a file, then compare again: a reload puts it into service.
      </Empty>
    )
  }
  return (
    <>
      {shown.length > 0 && (
        <dl class="facts">
          {shown.map(([title, items]) => (
            <div key={title}>
              <dt>{`${title} (${items.length})`}</dt>
              <dd>{items.join(', ')}</dd>
            </div>
          ))}
        </dl>
      )}
      {values.length > 0 && (
        <Table
          label="Values to change"
          columns={changeColumns}
          rows={values}
          keyOf={({ key }) => key}
          empty={<Empty title="No value changes.">The changes are in the files of sites.</Empty>}
          sortName="changes"
        />
      )}
      {isPartial && <p>The lists are not whole: there are more changes.</p>}
    </>
  )
}

interface ValuePage {
  readonly generation: number
  readonly values: readonly ConfigValueFacts[]
  readonly total: number
  readonly cursor: number | null
}

function Values() {
  const [text] = useParameter('q')
  const [origin] = useParameter('origin')
  return (
    <Section
      title="Values in service"
      tools={
        <Filters label="Values">
          <TextFilter name="q" label="Key or place contains" />
          <ChoiceFilter name="origin" label="From" choices={origins} />
        </Filters>
      }
    >
      <ValueTable key={`${text} ${origin}`} text={text} origin={origin} />
    </Section>
  )
}

function ValueTable({ text, origin }: { readonly text: string; readonly origin: string }) {
  const [cursors, setCursors] = useState<readonly number[]>([])
  const query = { q: text, origin, limit: PAGE, cursor: cursors.at(-1) }
  const page = useResource<ValuePage>('/admin/api/config/values', { query })
  return (
    <Loaded resource={page} doing="load the values" rows={8}>
      {({ values, total, generation, cursor }) => (
        <>
          <p role="status">
            {counted(total, 'value')} of generation {generation}. Secrets are shown as <code>***</code>.
          </p>
          <Table
            label="Values in service"
            columns={valueColumns}
            rows={values}
            keyOf={({ key }) => key}
            empty={<Empty title="No value matches.">Clear the filters to see all.</Empty>}
          />
          <Pager cursors={cursors} next={cursor} onCursors={setCursors} />
        </>
      )}
    </Loaded>
  )
}
