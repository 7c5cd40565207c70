import type { DiskSpace } from '@svc/telemetry'
import type { Reading, Rule } from './rule.ts'

const DAY_MS = 86_400_000

/** A certificate is to be renewed before this is left. */
const CERTIFICATE_DAYS = 14
/** Of responses, over five minutes. */
const MAX_ERROR_RATIO = 0.05
/** Fewer requests say nothing about a ratio. */
const MIN_REQUESTS = 20
/** Above that of the health check, which reports a fault: an alert comes before. */
const MIN_FREE_RATIO = 0.1
const MINUTE_MS = 60_000
/** A Redis that is restarted comes back within that time. */
const REDIS_MS = 30_000

/** Requests of some minutes. */
interface Requests {
  readonly requests: number
  /** Responses with a status of this class. */
  status(statusClass: 5): number
}

/** The state of an instance, as far as the built-in alerts are about it. Sites are ids. */
export interface Observations {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Processes that end again and again. */
  readonly looping: { readonly workers: number; readonly hosts: number }
  /** Sites whose isolates end again and again. */
  readonly loopingSites: readonly string[]
  /** Sites that have a render host of their own because they crash it. */
  readonly quarantined: readonly string[]
  /** Sites whose own unit is not connected. */
  readonly absentUnits: readonly string[]
  readonly certificates: readonly { readonly names: readonly string[]; readonly notAfter: number }[]
  /** Returns the one site whose hosts are among these names. */
  readonly siteOf: (names: readonly string[]) => string | undefined
  /** Requests of the last five minutes by site. Undefined: unknown. */
  readonly traffic: ReadonlyMap<string, Requests> | undefined
  /** Renders that wait for a thread, by site. */
  readonly queued: ReadonlyMap<string, number>
  /** Undefined: a file system does not answer. */
  readonly disks: readonly DiskSpace[] | undefined
  /** Why Redis is away; undefined: it is not, or none is configured. */
  readonly redisProblem: string | undefined
  /** Tasks whose last run failed. */
  readonly failingTasks: readonly string[]
  /** Enabled plugins that are switched off because they failed too often. */
  readonly pluginsOff: readonly string[]
  readonly lastReload: { readonly ok: boolean; readonly errors: readonly string[] } | null
}

interface BuiltinRule extends Pick<Rule, 'name' | 'forMs' | 'unit' | 'hint'> {
  readonly judge: (observed: Observations) => readonly Reading[] | undefined
}

function count(value: number): Reading[] {
  return [{ subject: '', value, isTrue: value > 0 }]
}

function ofThings(subjects: readonly string[]): Reading[] {
  return subjects.map((subject) => ({ subject, value: 1, isTrue: true }))
}

function ofSites(sites: readonly string[], subject: string): Reading[] {
  return sites.map((site) => ({ site, subject, value: 1, isTrue: true }))
}

/** Names of a certificate, for display. */
function titleOf(names: readonly string[]): string {
  const [first = 'without a name', ...others] = names
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

function certificateReadings({ certificates, siteOf, now }: Observations): Reading[] {
  const expiring = certificates.filter(({ notAfter }) => notAfter - now < CERTIFICATE_DAYS * DAY_MS)
  const first = expiring.toSorted((one, other) => one.notAfter - other.notAfter)
  return first.map(({ names, notAfter }) => {
    const site = siteOf(names)
    const value = rounded((notAfter - now) / DAY_MS)
    return { ...(site === undefined ? {} : { site }), subject: titleOf(names), value, isTrue: true }
  })
}

function errorReading({ requests, status }: Pick<Requests, 'requests'> & { readonly status: number }, site?: string): Reading {
  const value = requests === 0 ? null : rounded((status / requests) * 100)
  const isTrue = requests >= MIN_REQUESTS && status > MAX_ERROR_RATIO * requests
  return { ...(site === undefined ? {} : { site }), subject: '', value, isTrue }
}

/** One for all sites together, and one for each site that has a problem. */
function errorReadings({ traffic }: Observations): Reading[] | undefined {
  if (traffic === undefined) return undefined
  const all = { requests: 0, status: 0 }
  const ofSites = Array.from(traffic, ([site, totals]) => {
    const own = { requests: totals.requests, status: totals.status(5) }
    all.requests += own.requests
    all.status += own.status
    return errorReading(own, site)
  })
  return [errorReading(all), ...ofSites.filter(({ isTrue }) => isTrue)]
}

function diskReadings({ disks }: Observations): Reading[] | undefined {
  return disks?.map(({ path, freeRatio }) => {
    return { subject: path, value: rounded(freeRatio * 100), isTrue: freeRatio < MIN_FREE_RATIO }
  })
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

const rules: readonly BuiltinRule[] = [
  {
    name: 'worker_crash_loop',
    forMs: 0,
    unit: 'workers',
    hint: 'Workers die again and again. The log has the reason for each death.',
    judge: ({ looping }) => count(looping.workers),
  },
  {
    name: 'host_crash_loop',
    forMs: 0,
    unit: 'render hosts',
    hint: 'Render hosts die again and again. The log has the reason for each death, and the sites with renders in flight.',
    judge: ({ looping }) => count(looping.hosts),
  },
  {
    name: 'site_crash_loop',
    forMs: 0,
    unit: '',
    hint: 'Code of the site ends its isolates or its render host again and again: memory, or a loop without end. See the log of the site.',
    judge: ({ loopingSites, quarantined }) => [...ofSites(loopingSites, 'isolates'), ...ofSites(quarantined, 'render host')],
  },
  {
    name: 'site_unit_away',
    forMs: MINUTE_MS,
    unit: '',
    hint: 'The site has a process of its own that does not run. Start it: systemctl status svc-SITE, svc serve --site SITE.',
    judge: ({ absentUnits }) => ofSites(absentUnits, ''),
  },
  {
    name: 'certificate_expiring',
    forMs: 0,
    unit: 'days left',
    hint: 'Renew the file and run "svc reload". With tls.auto, the log says why the order fails.',
    judge: certificateReadings,
  },
  {
    name: 'error_ratio',
    forMs: MINUTE_MS,
    unit: '% of the responses of 5 minutes',
    hint: 'Responses with status 5xx. GET /__svc/admin/api/flows?reason=failed lists requests, GET /__svc/obs/logs?level=error the reasons.',
    judge: errorReadings,
  },
  {
    name: 'render_pool_saturated',
    forMs: MINUTE_MS,
    unit: 'renders waiting',
    hint: 'Requests wait for a render thread. Raise render.max_threads, cache more, or find the slow page among the flows.',
    judge: ({ queued }) =>
      Array.from(queued, ([site, value]) => ({ site, subject: '', value, isTrue: value > 0 })).filter(({ isTrue }) => isTrue),
  },
  {
    name: 'disk_space',
    forMs: MINUTE_MS,
    unit: '% free',
    hint: 'The disk is nearly full. Delete old releases and logs, or lower cache.isr.max_bytes and cache.proxy.max_bytes.',
    judge: diskReadings,
  },
  {
    name: 'redis_away',
    forMs: REDIS_MS,
    unit: '',
    hint: 'The instances do not share purges and pages until Redis is back. The check "redis" of /__svc/health says why it is away.',
    judge: ({ redisProblem }) => count(redisProblem === undefined ? 0 : 1),
  },
  {
    name: 'task_failed',
    forMs: 0,
    unit: '',
    hint: 'The last run of the task failed: GET /__svc/admin/api/tasks/NAME/runs has the reason. It ends with the next run that succeeds.',
    judge: ({ failingTasks }) => ofThings(failingTasks),
  },
  {
    name: 'plugin_off',
    forMs: 0,
    unit: '',
    hint: 'The plugin failed ten times in a row and is off in all workers. Mend its file and reload, or enable it: PUT /__svc/admin/api/plugins/NAME.',
    judge: ({ pluginsOff }) => ofThings(pluginsOff),
  },
  {
    name: 'reload_failed',
    forMs: 0,
    unit: 'errors',
    hint: 'The old configuration stays in service. "svc config check" lists the mistakes; then run "svc reload".',
    judge: ({ lastReload }) => [
      { subject: '', value: lastReload?.ok === false ? lastReload.errors.length : 0, isTrue: lastReload?.ok === false },
    ],
  },
]

/** Judges the built-in alerts. */
export function builtinRules(observed: Observations): Rule[] {
  return rules.map(({ judge, ...rule }) => ({ ...rule, source: 'built_in', condition: '', readings: judge(observed) }))
}
