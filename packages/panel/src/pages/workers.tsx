import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { Status, toneOf } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import type { Api } from '../data/api.ts'
import type { ListPage } from '../data/page-loader.ts'
import { useServices } from '../data/services.ts'
import { usePages } from '../data/use-pages.ts'
import { counted } from '../format/quantity.ts'

const EVERY_MS = 3_000
/** Between two looks at a restart that is in progress. */
const LOOK_MS = 500

interface Process {
  readonly id: string
  readonly kind: 'connection' | 'render'
  readonly pid: number
  readonly state: string
  readonly generation?: number
  readonly connections?: number
  readonly sites?: readonly string[]
}

interface ProcessPage extends ListPage {
  readonly workers: readonly Process[]
}

interface Restart {
  readonly restart_id: string
  readonly state: 'running' | 'done' | 'failed'
  readonly replaced: number
  readonly total: number
  readonly error?: string
}

/** Follows a rolling restart to its end. @returns its result in a sentence */
async function followed(api: Api, id: string, progress: (text: string) => void): Promise<string> {
  for (;;) {
    const { state, replaced, total, error } = await api.get<Restart>(`/admin/api/workers/restart/${encodeURIComponent(id)}`)
    const done = `${replaced} of ${counted(total, 'process', 'processes')} replaced`
    if (state === 'done') return `${done}.`
    if (state === 'failed') return `Failed: ${done}. ${error ?? 'The log has the reason.'}`
    progress(done)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

function restartAll(api: Api, hosts: number): Action {
  return {
    label: 'Restart render hosts',
    isDestructive: true,
    effect: `Replaces ${counted(hosts, 'render host')}, one after another. No request fails; pages are slower until the isolates are warm.`,
    run: async (progress) => {
      const { restart_id: id } = await api.send<Restart>('POST', '/admin/api/workers/restart')
      return followed(api, id, progress)
    },
  }
}

function restartOne(api: Api, { id, connections }: Process): Action {
  const effect =
    connections === undefined
      ? 'Requests in flight end first.'
      : `It has ${counted(connections, 'connection')}, which drain first.`
  return {
    label: `Restart ${id}`,
    isDestructive: true,
    effect: `Starts a successor of ${id}, then ends it. ${effect}`,
    run: async (progress) => {
      const begun = await api.send<Restart>('POST', `/admin/api/workers/${encodeURIComponent(id)}/restart`)
      return followed(api, begun.restart_id, progress)
    },
  }
}

function columnsFor(api: Api, reload: () => void): readonly Column<Process>[] {
  return [
    { name: 'id', title: 'Process', sortBy: ({ id }) => id, cell: ({ id }) => id },
    {
      name: 'kind',
      title: 'Kind',
      sortBy: ({ kind }) => kind,
      cell: ({ kind }) => (kind === 'render' ? 'render host' : 'worker'),
    },
    {
      name: 'state',
      title: 'State',
      sortBy: ({ state }) => state,
      cell: ({ state }) => <Status tone={state === 'spare' ? 'good' : toneOf(state)}>{state}</Status>,
    },
    {
      name: 'connections',
      title: 'Connections',
      isFigure: true,
      sortBy: ({ connections }) => connections ?? -1,
      cell: ({ connections }) => (connections === undefined ? '' : <Quantity value={connections} unit="count" />),
    },
    { name: 'sites', title: 'Sites', cell: ({ sites }) => sites?.join(', ') ?? '', isMinor: true },
    { name: 'generation', title: 'Generation', isFigure: true, cell: ({ generation }) => generation ?? '', isMinor: true },
    { name: 'pid', title: 'PID', isFigure: true, sortBy: ({ pid }) => pid, cell: ({ pid }) => pid, isMinor: true },
    {
      name: 'restart',
      title: 'Action',
      isAction: true,
      cell: (process) => <ActionButton needs="super_admin" onDone={reload} action={restartOne(api, process)} />,
    },
  ]
}

/** Connection workers and render hosts. */
export default function Workers() {
  const { api } = useServices()
  const workers = usePages('/admin/api/workers', ({ workers: rows }: ProcessPage) => rows, { everyMs: EVERY_MS })
  const hosts = workers.data?.rows.filter(({ kind }) => kind === 'render').length ?? 0
  return (
    <Section
      title="Processes"
      tools={<ActionButton needs="super_admin" onDone={workers.reload} action={restartAll(api, hosts)} />}
    >
      <Loaded resource={workers} doing="load the processes">
        {({ rows }) => (
          <Table
            label="Processes"
            columns={columnsFor(api, workers.reload)}
            rows={rows}
            more={workers.more}
            keyOf={({ id, pid }) => `${id} ${pid}`}
            empty={<Empty title="No process runs.">The server is about to stop.</Empty>}
          />
        )}
      </Loaded>
    </Section>
  )
}
