import { coversName, type SiteConfig } from '@svc/config'
import type { Clock, CloseStack } from '@svc/core'
import type { GenerationSpec } from '@svc/protocol'
import { Alerts } from '../alerts/alerts.ts'
import { builtinRules, type Observations } from '../alerts/builtin-rules.ts'
import { Look } from '../alerts/look.ts'
import { MetricRules } from '../alerts/metric-rules.ts'
import type { Rule } from '../alerts/rule.ts'
import type { Instances } from '../instances/instances.ts'
import { sloRules } from '../slos/slo-rules.ts'
import { Slos } from '../slos/slos.ts'
import { diskSpaces } from './instance-health.ts'
import type { MasterDeps, MasterParts } from './parts.ts'

/** The parts of a master that alerts are about. */
export type WatchedParts = Pick<
  MasterParts,
  'spec' | 'workers' | 'hosts' | 'losses' | 'certificates' | 'reloader' | 'metrics' | 'analytics'
> & {
  readonly silences: Pick<MasterParts['silences'], 'of'>
  readonly tasks: Pick<MasterParts['tasks'], 'failing'>
  readonly plugins: Pick<MasterParts['plugins'], 'failed'>
  readonly caches: { readonly instances: Pick<Instances, 'problem'> | undefined }
}

/** A file system on this machine answers at once. */
const LOOK_TIMEOUT_MS = 2_000
/** One that does not answer for so long is in an unknown state. */
const DISK_AGE_MS = 60_000

/** Returns the one site whose exact host names, or some of them, a certificate of these names is for. */
function siteOfNames(sites: readonly SiteConfig[], names: readonly string[]): string | undefined {
  const covered = sites.filter(({ hostnames }) => hostnames.some((host) => names.includes(host) || coversName(names, host)))
  return covered.length === 1 ? covered[0]?.id : undefined
}

/** Renders that wait for a thread. A unit reports on its own site alone. */
function queuedBySite({ hosts }: WatchedParts): Map<string, number> {
  const queued = new Map<string, number>()
  const units = hosts.own.running.flatMap((unit) => unit.pools.filter(({ site }) => site === unit.site.id))
  const shared = hosts.shared.running.flatMap(({ pools }) => pools)
  for (const pool of [...shared, ...units]) queued.set(pool.site, (queued.get(pool.site) ?? 0) + pool.queued)
  return queued
}

/** The observations that take time. */
type Looked = Pick<Observations, 'disks' | 'traffic'>

function observe(parts: WatchedParts, clock: Clock, looked: Looked): Observations {
  const { spec, workers, hosts, losses, certificates, reloader, caches, tasks, plugins } = parts
  const { sites } = spec()
  return {
    now: clock.now(),
    looping: { workers: workers.looping, hosts: hosts.shared.looping },
    loopingSites: losses.looping(clock.monotonic()),
    quarantined: hosts.quarantined,
    absentUnits: hosts.own.absent,
    certificates: certificates.lifetimes(),
    siteOf: (names) => siteOfNames(sites, names),
    queued: queuedBySite(parts),
    ...looked,
    failingTasks: tasks.failing,
    pluginsOff: plugins.failed,
    lastReload: reloader.last,
    redisProblem: caches.instances?.problem,
  }
}

/** The one site of a label, which is the value of the label `site` of metrics. */
function siteOfLabel({ sites }: GenerationSpec, label: string): string | undefined {
  const found = sites.filter((site) => site.label === label)
  return found.length === 1 ? found[0]?.id : undefined
}

/** Makes the alerts of an instance, which are evaluated from their start on, and the objectives that some of them are about. */
export function makeAlerts(
  parts: () => WatchedParts,
  { clock, logger }: Pick<MasterDeps, 'clock' | 'logger'>,
  stack: Pick<CloseStack, 'push'>,
): Pick<MasterParts, 'alerts' | 'slos'> {
  const metricRules = new MetricRules()
  const disks = new Look({ look: () => diskSpaces(parts().spec().config), everyMs: 0, maxAgeMs: DISK_AGE_MS, clock })
  const slos = new Slos({ slos: () => parts().spec().config.obs.slos, store: () => parts().analytics, clock })
  const judge = async (): Promise<Rule[]> => {
    const { spec, workers, hosts, metrics } = parts()
    const configured = spec().config.obs.alerts
    const [snapshots] = await Promise.all([
      // Without such alerts no process is asked.
      configured.length === 0 ? [] : metrics.snapshots([...workers.ready, ...hosts.measured]),
      disks.refresh(LOOK_TIMEOUT_MS),
      slos.refresh(LOOK_TIMEOUT_MS),
    ])
    const site = (label: string) => siteOfLabel(spec(), label)
    return [
      ...builtinRules(observe(parts(), clock, { disks: disks.value, traffic: slos.recentTraffic })),
      ...sloRules(slos.statuses()),
      ...metricRules.judge(configured, snapshots, { monotonic: clock.monotonic(), siteOf: site }),
    ]
  }
  const alerts = new Alerts({ judge, silences: { of: (alert) => parts().silences.of(alert) }, clock, logger })
  stack.push('alerts', () => alerts.close())
  return { alerts, slos }
}
