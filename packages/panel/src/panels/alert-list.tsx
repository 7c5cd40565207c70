import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import { Link } from '../components/link.tsx'
import { Status, toneOf } from '../components/status.tsx'
import { Time } from '../components/time.tsx'
import type { Alert } from '../data/answers.ts'
import { sitePath } from '../data/answers.ts'
import type { Api } from '../data/api.ts'
import { useServices } from '../data/services.ts'
import { absoluteTime } from '../format/relative-time.ts'

const SILENCES = '/admin/api/alerts/silences'
const HOUR_MS = 3_600_000

const durations = [
  ['1', '1 hour'],
  ['4', '4 hours'],
  ['24', '1 day'],
  ['168', '7 days'],
  ['720', '30 days'],
] as const

/** An alert in words: "certificate_expiring of shop, shop.test". */
function alertName({ name, site, subject }: Pick<Alert, 'name' | 'site' | 'subject'>): string {
  return `${name}${site === null ? '' : ` of ${site}`}${subject === '' ? '' : `, ${subject}`}`
}

function endSilence(api: Api, id: string, of: string): Action {
  return {
    label: 'End silence',
    effect: `Counts and logs the alert ${of} again.`,
    run: async () => {
      await api.send('DELETE', `${SILENCES}/${encodeURIComponent(id)}`)
      return `The silence of ${of} has ended.`
    },
  }
}

function silence(api: Api, alert: Alert): Action {
  const { name, site, subject } = alert
  const of = alertName(alert)
  let made = ''
  return {
    label: 'Silence',
    effect: `The alert ${of} stays in the lists, but is no longer counted as firing, and the log says nothing of it until the silence ends.`,
    fields: [
      { name: 'hours', label: 'For', choices: durations },
      { name: 'reason', label: 'Reason, for colleagues (optional)', maxLength: 500 },
    ],
    run: async (_progress, { hours = '1', reason = '' }) => {
      const until = new Date(Date.now() + Number(hours) * HOUR_MS).toISOString()
      const about = { ...(site === null ? {} : { site }), ...(subject === '' ? {} : { subject }) }
      const body = { name, ...about, until, ...(reason === '' ? {} : { reason }) }
      made = (await api.send<{ readonly id: string }>('POST', SILENCES, body)).id
      return `${of} is silenced until ${absoluteTime(Date.parse(until))}.`
    },
    undo: () => endSilence(api, made, of).run(() => undefined, {}),
  }
}

const query = (parameters: Readonly<Record<string, string | null>>) =>
  new URLSearchParams(Object.entries(parameters).flatMap(([name, value]) => (value === null ? [] : [[name, value]])))

/** The page where the cause of an alert shows. Undefined: none does. */
function causePage({ name, site, subject }: Alert): readonly [words: string, href: string] | undefined {
  switch (name) {
    case 'error_ratio':
      return ['Failed requests', `/__svc/admin/flows?${query({ reason: 'failed', site })}`]
    case 'slo_burn':
      return ['Recorded requests', `/__svc/admin/flows?${query({ site })}`]
    case 'render_pool_saturated':
      return ['Slow requests', `/__svc/admin/flows?${query({ reason: 'slow', site })}`]
    case 'task_failed':
      return ['Its runs', `/__svc/admin/tasks?${query({ task: subject })}`]
    case 'certificate_expiring':
      return ['Certificates', '/__svc/admin/certificates']
    case 'reload_failed':
      return ['Mistakes of the files', '/__svc/admin/configuration']
    case 'plugin_off':
      return ['Plugins', '/__svc/admin/plugins']
    case 'worker_crash_loop':
    case 'host_crash_loop':
    case 'site_crash_loop':
      return ['Errors in the log', `/__svc/admin/logs?${query({ level: 'error', site })}`]
    default:
      return undefined
  }
}

interface AlertListProps {
  readonly alerts: readonly Alert[]
  /** Silences and their ends. Undefined: the list has no actions. */
  readonly onChanged?: (() => void) | undefined
}

/** Alerts with their next steps. */
export function AlertList({ alerts, onChanged }: AlertListProps) {
  return (
    <ul class="alerts">
      {alerts.map((alert) => (
        <li key={alertName(alert)} class={`alert alert-${alert.silence === null ? alert.state : 'silenced'}`}>
          <AlertText alert={alert} isPlain={onChanged === undefined} />
          {onChanged !== undefined && <AlertActions alert={alert} onChanged={onChanged} />}
        </li>
      ))}
    </ul>
  )
}

function AlertText({ alert, isPlain }: { readonly alert: Alert; readonly isPlain: boolean }) {
  const { name, subject, site, state, since, hint, value, unit, silence: silenced } = alert
  const cause = isPlain ? undefined : causePage(alert)
  return (
    <div>
      <p>
        <Status tone={silenced === null ? toneOf(state) : 'idle'}>{state}</Status> <strong>{name}</strong>{' '}
        {site !== null && (isPlain ? site : <Link href={sitePath(site)}>{site}</Link>)} {subject}{' '}
        {value !== null && unit !== '' && <span>{`${value} ${unit}`}</span>}{' '}
        <small>
          since <Time at={since} />
        </small>
      </p>
      <p class="hint">
        {cause !== undefined && (
          <>
            <Link href={cause[1]}>{cause[0]}</Link>
            {'. '}
          </>
        )}
        {hint}
      </p>
      {silenced !== null && (
        <p class="hint">
          Silenced by {silenced.username || 'the machine itself'}, ends <Time at={silenced.until} />
          {silenced.reason !== '' && `: ${silenced.reason}`}
        </p>
      )}
    </div>
  )
}

function AlertActions({ alert, onChanged }: { readonly alert: Alert; readonly onChanged: () => void }) {
  const { api } = useServices()
  const action = alert.silence === null ? silence(api, alert) : endSilence(api, alert.silence.id, alertName(alert))
  return (
    <div>
      <ActionButton needs="tenant_admin" action={action} onDone={onChanged} />
    </div>
  )
}
