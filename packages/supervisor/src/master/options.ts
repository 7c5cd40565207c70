import type { ConfigSource, LoadResult } from '@svc/config'
import type { Clock } from '@svc/core'
import type { SupervisorTimings } from '@svc/processes'
import type { Logger } from '@svc/telemetry'

/** Options of a master's start. */
export interface MasterOptions {
  /** Source of the configuration; read again at each reload. */
  readonly source: ConfigSource
  /** Absolute paths of the programs to fork. */
  readonly programs: { readonly worker: string; readonly renderHost: string }
  /** Overrides of the default timings. */
  readonly timings?: Partial<SupervisorTimings>
}

/** Dependencies of a master. */
export interface MasterDeps {
  readonly options: MasterOptions
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** Loads the configuration again. */
  readonly load: () => Promise<LoadResult>
  readonly startedAt: number
}
