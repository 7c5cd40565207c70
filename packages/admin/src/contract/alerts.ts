import type { AlertReport, Silence, SilenceOrder } from '@svc/protocol'

/** The alerts of the instance. All reject if the master is unreachable, or with its error. */
export interface Alerts {
  report(): Promise<AlertReport>
  /** Silences that hold, the first to end before the others. */
  silences(): Promise<readonly Silence[]>
  /** Resolves when a restart does not forget it. @throws SUP_SILENCE_LIMIT */
  silence(order: SilenceOrder): Promise<Silence>
  /** False: there is no such silence. */
  endSilence(id: string): Promise<boolean>
}
