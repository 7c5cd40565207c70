import type { SummaryReport as Report } from '@svc/protocol'

/** The state of the server as its stream sends it. */
export interface SummaryReport extends Report {
  readonly alerts: { readonly firing: number; readonly pending: number; readonly silenced: number }
}
