import type { ConfigSource, LoadResult } from '@svc/config'
import type { Clock, Gate } from '@svc/core'
import type { SupervisorTimings } from '@svc/processes'
import type { GenerationSpec, StatusReport } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { Alerts } from '../alerts/alerts.ts'
import type { Silences } from '../alerts/silences.ts'
import type { Analytics } from '../analytics/analytics.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { ConfigChecks } from '../config-check/config-checks.ts'
import type { HeapSnapshots } from '../debug/heap-snapshots.ts'
import type { RollingRestart } from '../fleet/rolling-restart.ts'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import type { FlowFeed } from '../flows/flow-feed.ts'
import type { LimitZones } from '../limits/limit-zones.ts'
import type { LogStore } from '../logs/log-store.ts'
import type { MetricsCollector } from '../metrics/metrics-collector.ts'
import type { Overrides } from '../overrides/overrides.ts'
import type { SwitchedPlugins } from '../plugins/switched-plugins.ts'
import type { RateLimits } from '../rate-limit/rate-limits.ts'
import type { Releases } from '../releases/releases.ts'
import type { Uploads } from '../releases/uploads.ts'
import type { EffectiveValues } from '../reload/effective-values.ts'
import type { Reloader } from '../reload/reloader.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Slos } from '../slos/slos.ts'
import type { TaskScheduler } from '../tasks/task-scheduler.ts'
import type { Certificates } from '../tls/certificates.ts'
import type { RuleRates } from '../waf/rule-rates.ts'
import type { WafEvents } from '../waf/waf-events.ts'
import type { Caches } from './caches.ts'
import type { RenderHosts } from './render-hosts.ts'
import type { ServedSites } from './served-sites.ts'
import type { SiteChanges } from './site-changes.ts'
import type { SiteSurveys } from './site-surveys.ts'

/** Options of a master's start. */
export interface MasterOptions {
  /** Source of the configuration; read again at each reload. */
  readonly source: ConfigSource
  /** Absolute paths of the programs to fork. */
  readonly programs: {
    readonly worker: string
    readonly renderHost: string
    readonly configCheck: string
    readonly unpack: string
  }
  /** Overrides of the default timings. */
  readonly timings?: Partial<SupervisorTimings>
}

/** Dependencies of a master. */
export interface MasterDeps {
  readonly options: MasterOptions
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** The last lines of all processes. */
  readonly logs: LogStore
  /** Loads the configuration again. */
  readonly load: () => Promise<LoadResult>
  /** Start of the master, in the clock's monotonic time. */
  readonly startedAt: number
}

/** All parts of a running master. */
export interface MasterParts extends Pick<MasterDeps, 'clock' | 'logger' | 'logs' | 'startedAt'> {
  readonly spec: () => GenerationSpec
  readonly workers: WorkerFleet
  readonly hosts: RenderHosts
  /** Isolates that sites have lost. */
  readonly losses: { looping(now: number): string[] }
  readonly certificates: Pick<Certificates, 'problems' | 'report' | 'renew' | 'lifetimes'>
  readonly caches: Caches
  readonly reloader: Pick<Reloader, 'reload' | 'preview' | 'renewCertificates' | 'change'> & {
    readonly last: StatusReport['last_reload']
  }
  readonly effective: EffectiveValues
  readonly restarts: RollingRestart
  readonly sessions: Sessions
  readonly changes: SiteChanges
  readonly served: ServedSites
  readonly surveys: SiteSurveys
  readonly metrics: MetricsCollector
  readonly analytics: Analytics
  readonly audit: AuditLog
  readonly alerts: Alerts
  readonly silences: Silences
  readonly slos: Slos
  readonly configChecks: ConfigChecks
  readonly overrides: Overrides
  readonly rateLimits: RateLimits
  readonly limitZones: LimitZones
  readonly ruleRates: RuleRates
  readonly wafEvents: WafEvents
  /** Changes of rules of the firewall, one at a time. */
  readonly wafChanges: Gate
  readonly tasks: TaskScheduler
  readonly plugins: SwitchedPlugins
  readonly releases: Releases
  readonly uploads: Uploads
  readonly flowFeed: FlowFeed
  readonly heapSnapshots: HeapSnapshots
}

/** The generation in service, which a reload replaces. */
export interface GenerationAccess {
  get(): GenerationSpec
  set(spec: GenerationSpec): void
}
