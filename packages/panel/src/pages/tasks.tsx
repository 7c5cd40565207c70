import { useParameter } from '../address/router.ts'
import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { Status, toneOf } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import type { Api } from '../data/api.ts'
import type { ListPage } from '../data/page-loader.ts'
import { useServices } from '../data/services.ts'
import { usePages } from '../data/use-pages.ts'

const EVERY_MS = 5_000

interface Run {
  readonly id: string
  readonly trigger: 'schedule' | 'manual'
  readonly due_at: string
  readonly started_at: string | null
  readonly duration_ms: number | null
  readonly state: string
  readonly status: number | null
  readonly detail: string
}

interface Task {
  readonly name: string
  readonly schedule: string
  readonly handler: string
  readonly host: string
  readonly enabled: boolean
  readonly next_run_at: string | null
  readonly last_run: Run | null
}

interface TaskPage extends ListPage {
  readonly tasks: readonly Task[]
}

interface RunPage extends ListPage {
  readonly runs: readonly Run[]
}

const taskPath = (name: string) => `/admin/api/tasks/${encodeURIComponent(name)}`

function runOf(api: Api, { name, handler, host }: Task): Action {
  return {
    label: 'Run now',
    effect: `Requests ${handler} of ${host} once, now. The schedule of ${name} stays.`,
    run: async () => {
      const { run } = await api.send<{ readonly run: Run }>('POST', `${taskPath(name)}/run`)
      return `The run ${run.id} is ${run.state}: its result appears in the list of runs.`
    },
  }
}

function switchOf(api: Api, { name, enabled }: Task): Action {
  return {
    label: enabled ? 'Disable' : 'Enable',
    isDestructive: enabled,
    effect: enabled ? `Ignores the schedule of ${name} until you enable it.` : `Runs ${name} by its schedule again.`,
    run: async () => {
      await api.send('PUT', taskPath(name), { enabled: !enabled })
      return enabled ? `${name} is disabled.` : `${name} is enabled.`
    },
  }
}

function RunState({ run: { state, status } }: { readonly run: Run }) {
  return (
    <Status tone={toneOf(state)}>
      {state}
      {status !== null && ` (${status})`}
    </Status>
  )
}

function columnsFor(api: Api, open: (name: string) => void, reload: () => void): readonly Column<Task>[] {
  return [
    {
      name: 'name',
      title: 'Task',
      sortBy: ({ name }) => name,
      cell: ({ name }) => (
        <button type="button" class="link" onClick={() => open(name)}>
          {name}
        </button>
      ),
    },
    { name: 'schedule', title: 'Schedule', cell: ({ schedule }) => <code>{schedule}</code> },
    {
      name: 'next',
      title: 'Next run',
      sortBy: ({ next_run_at: at }) => at ?? '',
      cell: ({ next_run_at: at }) => (at === null ? <Status tone="idle">disabled</Status> : <Time at={at} />),
    },
    { name: 'last', title: 'Last run', cell: ({ last_run: run }) => (run === null ? 'none' : <RunState run={run} />) },
    { name: 'handler', title: 'Request', cell: ({ host, handler }) => `${host} ${handler}`, isMinor: true },
    {
      name: 'actions',
      title: 'Actions',
      isAction: true,
      cell: (task) => (
        <>
          <ActionButton needs="super_admin" onDone={reload} action={runOf(api, task)} />
          <ActionButton needs="super_admin" onDone={reload} action={switchOf(api, task)} />
        </>
      ),
    },
  ]
}

const runColumns: readonly Column<Run>[] = [
  { name: 'due', title: 'Due', sortBy: ({ due_at: at }) => at, cell: ({ due_at: at }) => <Time at={at} /> },
  { name: 'state', title: 'State', sortBy: ({ state }) => state, cell: (run) => <RunState run={run} /> },
  {
    name: 'duration',
    title: 'Duration',
    isFigure: true,
    sortBy: ({ duration_ms: duration }) => duration ?? -1,
    cell: ({ duration_ms: duration }) => <Quantity value={duration} unit="ms" />,
  },
  { name: 'trigger', title: 'Trigger', cell: ({ trigger }) => trigger },
  { name: 'detail', title: 'Detail', cell: ({ detail }) => <span title={detail}>{detail}</span>, isMinor: true },
]

/** Tasks with their schedules, and the last runs of one. */
export default function Tasks() {
  const { api } = useServices()
  const [task, open] = useParameter('task')
  const tasks = usePages('/admin/api/tasks', ({ tasks: rows }: TaskPage) => rows, { everyMs: EVERY_MS })
  return (
    <>
      {task !== '' && <Runs name={task} close={() => open('')} />}
      <Section title="All tasks">
        <Loaded resource={tasks} doing="load the tasks">
          {({ rows }) => (
            <Table
              label="Tasks"
              columns={columnsFor(api, open, tasks.reload)}
              rows={rows}
              more={tasks.more}
              keyOf={({ name }) => name}
              empty={
                <Empty title="There are no tasks.">
                  <code>[[tasks]]</code> of the configuration defines them.
                </Empty>
              }
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}

function Runs({ name, close }: { readonly name: string; readonly close: () => void }) {
  const runs = usePages(`${taskPath(name)}/runs`, ({ runs: rows }: RunPage) => rows, { everyMs: EVERY_MS })
  return (
    <Section
      title={`Runs of ${name}`}
      tools={
        <button type="button" onClick={close}>
          Close
        </button>
      }
    >
      <Loaded resource={runs} doing={`load the runs of ${name}`}>
        {({ rows }) => (
          <Table
            label={`Runs of ${name}`}
            columns={runColumns}
            rows={rows}
            more={runs.more}
            keyOf={({ id }) => id}
            empty={<Empty title="It has not run yet.">The last 50 runs appear here.</Empty>}
            sortName="runs"
          />
        )}
      </Loaded>
    </Section>
  )
}
