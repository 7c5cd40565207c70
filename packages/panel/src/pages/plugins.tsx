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

const EVERY_MS = 10_000

interface Plugin {
  readonly name: string
  readonly version: string
  readonly hooks: readonly string[]
  readonly timeout_ms: number
  readonly enabled: boolean
  readonly state: string
  readonly reason: string | null
  readonly invocations: number
  readonly errors: number
  readonly last_error: string | null
}

const tones = { active: 'good', off: 'idle', disabled: 'bad' } as const

interface PluginPage extends ListPage {
  readonly plugins: readonly Plugin[]
}

function columnsFor(api: Api, reload: () => void): readonly Column<Plugin>[] {
  return [
    { name: 'name', title: 'Plugin', sortBy: ({ name }) => name, cell: ({ name, version }) => `${name} ${version}` },
    {
      name: 'state',
      title: 'State',
      sortBy: ({ state }) => state,
      cell: ({ state, reason }) => (
        <>
          <Status tone={tones[state as keyof typeof tones] ?? 'idle'}>{state}</Status> {reason}
        </>
      ),
    },
    {
      name: 'calls',
      title: 'Calls',
      isFigure: true,
      sortBy: ({ invocations }) => invocations,
      cell: ({ invocations }) => <Quantity value={invocations} unit="count" />,
    },
    {
      name: 'errors',
      title: 'Errors',
      isFigure: true,
      sortBy: ({ errors }) => errors,
      cell: ({ errors }) => <Quantity value={errors} unit="count" />,
    },
    {
      name: 'last',
      title: 'Last error',
      cell: ({ last_error: error }) => <span title={error ?? ''}>{error ?? ''}</span>,
      isMinor: true,
    },
    { name: 'hooks', title: 'Hooks', cell: ({ hooks }) => hooks.join(', '), isMinor: true },
    {
      name: 'timeout',
      title: 'Deadline',
      isFigure: true,
      isMinor: true,
      cell: ({ timeout_ms: timeout }) => <Quantity value={timeout} unit="ms" />,
    },
    {
      name: 'switch',
      title: 'Service',
      isAction: true,
      cell: ({ name, state }) => {
        const isActive = state === 'active'
        return (
          <ActionButton
            needs="super_admin"
            onDone={reload}
            action={{
              label: isActive ? 'Disable' : 'Enable',
              isDestructive: isActive,
              effect: isActive
                ? `Skips the hooks of ${name} in all workers.`
                : `Calls the hooks of ${name} again, in all workers.`,
              run: async () => {
                await api.send('PUT', `/admin/api/plugins/${encodeURIComponent(name)}`, { enabled: !isActive })
                return `${name} is ${isActive ? 'disabled' : 'enabled'}.`
              },
            }}
          />
        )
      },
    },
  ]
}

/** Plugins of the operator with their state. */
export default function Plugins() {
  const { api } = useServices()
  const plugins = usePages('/admin/api/plugins', ({ plugins: rows }: PluginPage) => rows, { everyMs: EVERY_MS })
  return (
    <Section title="All plugins">
      <Loaded resource={plugins} doing="load the plugins">
        {({ rows }) => (
          <Table
            label="Plugins"
            columns={columnsFor(api, plugins.reload)}
            rows={rows}
            more={plugins.more}
            keyOf={({ name }) => name}
            empty={
              <Empty title="There are no plugins.">
                <code>[plugins] directory</code> of the configuration names the directory of their files.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  )
}
