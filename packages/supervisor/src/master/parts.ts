import type { Logger } from '@svc/telemetry'
import type { RollingRestart } from '../fleet/rolling-restart.ts'
import type { MetricsCollector } from '../metrics/metrics-collector.ts'
import type { Reloader } from '../reload/reloader.ts'
import type { Caches } from './caches.ts'
import type { InstanceParts } from './control-plane.ts'
import type { ServedSites } from './served-sites.ts'
import type { SiteChanges } from './site-changes.ts'
import type { SiteSurveys } from './site-surveys.ts'

/** All parts of a running master. */
export interface MasterParts extends InstanceParts {
  readonly caches: Caches
  readonly reloader: Reloader
  readonly restarts: RollingRestart
  readonly changes: SiteChanges
  readonly served: ServedSites
  readonly surveys: SiteSurveys
  readonly metrics: MetricsCollector
  readonly logger: Logger
}
