import type { L0Facts } from '@svc/cache'
import type { HttpSeries } from '@svc/telemetry'

/** What a worker notes with a response in L0, so that a hit is counted and logged like any other answer. */
export interface WorkerFacts extends L0Facts {
  /** Id of the site. */
  readonly site: string
  readonly isAccessLogged: boolean
  /** Whether it is for the path as it was spelled: normalised. */
  readonly isOfSpelling: boolean
  readonly get: HttpSeries
  readonly head: HttpSeries
}
