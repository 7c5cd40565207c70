import type { Clock } from '@svc/core'
import type { SupervisorTimings } from '@svc/processes'
import type { Logger } from '@svc/telemetry'

/** Options of a unit's start. */
export interface SiteUnitOptions {
  readonly site: string
  /** Run directory of the site's server. */
  readonly runDir: string
  /** Absolute path of the program of render hosts. */
  readonly renderHost: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Overrides of the default timings. */
  readonly timings?: Partial<SupervisorTimings>
}

/** Dependencies of a unit. */
export interface SiteUnitDeps {
  readonly options: SiteUnitOptions
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  readonly startedAt: number
}
