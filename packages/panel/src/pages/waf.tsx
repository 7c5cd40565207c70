import { useState } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import { Empty } from '../components/empty.tsx'
import { Failure } from '../components/failure.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import { type Api, ApiError } from '../data/api.ts'
import type { ListPage } from '../data/page-loader.ts'
import { useMayChange, useServices } from '../data/services.ts'
import { usePages } from '../data/use-pages.ts'
import { useResource } from '../data/use-resource.ts'

const EVERY_MS = 10_000
const EVENTS = 200

type Mode = 'off' | 'monitor' | 'block'

interface Waf {
  readonly mode: Mode
  readonly packs: Readonly<Record<string, Mode>>
  readonly rules: number
}

interface Rule {
  readonly id: string
  readonly site?: string
  readonly action: string
  readonly when: object
  readonly rate?: { readonly count: number; readonly window_secs: number }
}

interface Event {
  readonly at: string
  readonly request_id: string
  readonly rule: string
  readonly action: string
  readonly site: string
  readonly client: string
  readonly method: string
  readonly path: string
}

interface RulePage extends ListPage {
  readonly rules: readonly Rule[]
}

interface EventPage extends ListPage {
  readonly events: readonly Event[]
}

const modes = ['off', 'monitor', 'block'] as const
const effects: Readonly<Record<Mode, string>> = {
  off: 'No request is looked at, and none is refused.',
  monitor: 'Requests that match are listed here, and none is refused.',
  block: 'Requests that match a rule or pack whose action is block get 403.',
}
const tones = { off: 'idle', monitor: 'warning', block: 'good', pass: 'idle' } as const
const toneOfMode = (mode: string) => tones[mode as keyof typeof tones] ?? 'idle'

function setMode(api: Api, mode: Mode): Action {
  return {
    label: `Set mode ${mode}`,
    isDestructive: mode === 'off',
    effect: `${effects[mode]} On all workers at once; it survives restarts.`,
    run: async () => {
      await api.send('PUT', '/admin/api/waf/mode', { mode })
      return `The mode is ${mode}.`
    },
  }
}

const eventColumns: readonly Column<Event>[] = [
  { name: 'at', title: 'Time', sortBy: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  { name: 'rule', title: 'Rule', sortBy: ({ rule }) => rule, cell: ({ rule }) => rule },
  {
    name: 'action',
    title: 'Effect',
    sortBy: ({ action }) => action,
    cell: ({ action }) => <Status tone={action === 'block' ? 'bad' : 'warning'}>{action}</Status>,
  },
  { name: 'request', title: 'Request', cell: ({ method, path }) => <span title={path}>{`${method} ${path}`}</span> },
  { name: 'client', title: 'Client', sortBy: ({ client }) => client, cell: ({ client }) => <code>{client}</code> },
  { name: 'site', title: 'Site', sortBy: ({ site }) => site, cell: ({ site }) => site, isMinor: true },
]

function ruleColumns(api: Api, reload: () => void): readonly Column<Rule>[] {
  return [
    { name: 'id', title: 'Rule', sortBy: ({ id }) => id, cell: ({ id }) => id },
    { name: 'action', title: 'Action', cell: ({ action }) => <Status tone={toneOfMode(action)}>{action}</Status> },
    { name: 'when', title: 'When', cell: ({ when }) => <code title={JSON.stringify(when)}>{JSON.stringify(when)}</code> },
    {
      name: 'rate',
      title: 'Above',
      cell: ({ rate }) => (rate === undefined ? 'every request' : `${rate.count} in ${rate.window_secs} s`),
      isMinor: true,
    },
    { name: 'site', title: 'Site', cell: ({ site }) => site ?? 'all', isMinor: true },
    {
      name: 'remove',
      title: 'Change',
      isAction: true,
      cell: ({ id, action }) => (
        <ActionButton
          needs="tenant_admin"
          onDone={reload}
          action={{
            label: 'Remove rule',
            isDestructive: true,
            effect: `Removes the rule ${id} (${action}) from all workers. Add it again with POST waf/rules.`,
            run: async () => {
              await api.send('DELETE', `/admin/api/waf/rules/${encodeURIComponent(id)}`)
              return `The rule ${id} is removed.`
            },
          }}
        />
      ),
    },
  ]
}

const actions = [
  ['', 'all'],
  ['block', 'block'],
  ['monitor', 'monitor'],
] as const

/** The firewall: its mode and packs, what it matched, its rules, and a trial of a request. */
export default function Firewall() {
  const { api } = useServices()
  const waf = useResource<Waf>('/admin/api/waf', { everyMs: EVERY_MS })
  const rules = usePages('/admin/api/waf/rules', ({ rules: rows }: RulePage) => rows, { everyMs: EVERY_MS })
  const mayTry = useMayChange('super_admin')
  return (
    <>
      <Section
        title="Mode"
        tools={modes
          .filter((mode) => waf.data !== undefined && mode !== waf.data.mode)
          .map((mode) => <ActionButton key={mode} needs="super_admin" action={setMode(api, mode)} onDone={waf.reload} />)}
      >
        <Loaded resource={waf} doing="load the state of the firewall">
          {({ mode, packs }) => (
            <>
              <p>
                <Status tone={toneOfMode(mode)}>{mode}</Status> {effects[mode]}
              </p>
              <dl class="facts">
                {Object.entries(packs).map(([name, packMode]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>
                      <Status tone={toneOfMode(packMode)}>{packMode}</Status>
                    </dd>
                  </div>
                ))}
              </dl>
            </>
          )}
        </Loaded>
      </Section>
      {mayTry && <Trial api={api} />}
      <Events />
      <Section title="Rules">
        <Loaded resource={rules} doing="load the rules">
          {({ rows }) => (
            <Table
              label="Rules"
              columns={ruleColumns(api, rules.reload)}
              rows={rows}
              more={rules.more}
              keyOf={({ id }) => id}
              empty={
                <Empty title="There are no rules of your own.">
                  <code>[[waf.rules]]</code> of the configuration or <code>POST /__svc/admin/api/waf/rules</code> adds some.
                </Empty>
              }
              sortName="rules"
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}

function Events() {
  const [site] = useParameter('site')
  const [rule] = useParameter('rule')
  const [action] = useParameter('action')
  const events = usePages('/admin/api/waf/events', ({ events: rows }: EventPage) => rows, {
    query: { site, rule, action, limit: EVENTS },
    everyMs: EVERY_MS,
  })
  return (
    <Section
      title="Requests that matched"
      tools={
        <Filters label="Events">
          <TextFilter name="site" label="Site ID" isWhole />
          <TextFilter name="rule" label="Rule or pack" isWhole />
          <ChoiceFilter name="action" label="Effect" choices={actions} />
        </Filters>
      }
    >
      <Loaded resource={events} doing="load the events" rows={6}>
        {({ rows }) => (
          <Table
            label="Requests that matched"
            columns={eventColumns}
            rows={rows}
            more={events.more}
            keyOf={({ at, request_id: id, rule: of }) => `${at} ${id} ${of}`}
            empty={<Empty title="No request matched.">They appear here when the mode is monitor or block.</Empty>}
          />
        )}
      </Loaded>
    </Section>
  )
}

interface Verdict {
  readonly action: string
  readonly rule: string | null
}

/** Asks which rule a request would match; no request is made. */
function Trial({ api }: { readonly api: Api }) {
  const [verdict, setVerdict] = useState<Verdict | ApiError>()
  const ask = async (form: HTMLFormElement) => {
    const fields = new FormData(form)
    const text = (name: string) => String(fields.get(name) ?? '')
    const headers = text('host') === '' ? {} : { headers: { host: text('host') } }
    try {
      setVerdict(
        await api.send<Verdict>('POST', '/admin/api/waf/test', { method: text('method'), path: text('path'), ...headers }),
      )
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      setVerdict(error)
    }
  }
  return (
    <Section title="Try a request">
      <form
        class="filters"
        aria-label="Try a request"
        onSubmit={(event) => {
          event.preventDefault()
          void ask(event.currentTarget)
        }}
      >
        <p class="field">
          <label for="waf-method">Method</label>
          <input id="waf-method" name="method" value="GET" maxLength={32} required />
        </p>
        <p class="field">
          <label for="waf-path">Path with query</label>
          <input id="waf-path" name="path" placeholder="/?q=%27%20or%201=1" maxLength={8000} required />
        </p>
        <p class="field">
          <label for="waf-host">Host</label>
          <input id="waf-host" name="host" maxLength={253} />
        </p>
        <button type="submit">Try</button>
      </form>
      {verdict instanceof ApiError && <Failure doing="try the request" error={verdict} />}
      {verdict !== undefined && !(verdict instanceof ApiError) && (
        <p role="status">
          <Status tone={verdict.action === 'block' ? 'bad' : toneOfMode(verdict.action)}>{verdict.action}</Status>{' '}
          {verdict.rule === null ? 'No rule matches.' : `Rule ${verdict.rule}.`}
        </p>
      )}
    </Section>
  )
}
