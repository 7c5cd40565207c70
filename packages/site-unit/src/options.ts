import type { Clock } from '@svc/core'
import type { SupervisorTimings } from '@svc/processes'
import type { Logger } from '@svc/telemetry'

/** What the unit of a site is started with. */
export interface SiteUnitOptions {
  readonly site: string
  /** Run directory of the server that has the site. */
  readonly runDir: string
  /** Absolute path of the program of render hosts. */
  readonly renderHost: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Other than usual patience. */
  readonly timings?: Partial<SupervisorTimings>
}

/** What a unit works with. */
export interface SiteUnitDeps {
  readonly options: SiteUnitOptions
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  readonly startedAt: number
}
