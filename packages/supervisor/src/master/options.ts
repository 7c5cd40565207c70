import type { ConfigSource, LoadResult } from '@svc/config'
import type { Clock } from '@svc/core'
import type { SupervisorTimings } from '@svc/processes'
import type { Logger } from '@svc/telemetry'

/** What a master is started with. */
export interface MasterOptions {
  /** Where the configuration comes from; read again at each reload. */
  readonly source: ConfigSource
  /** Absolute paths of the programs to fork. */
  readonly programs: { readonly worker: string; readonly renderHost: string }
  /** Other than usual patience. */
  readonly timings?: Partial<SupervisorTimings>
}

/** What a master works with. */
export interface MasterDeps {
  readonly options: MasterOptions
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  /** Reads the configuration anew. */
  readonly load: () => Promise<LoadResult>
  readonly startedAt: number
}
