import type { HealthReport } from '@svc/protocol'

/** What the endpoints ask of the instance. The worker implements it over its channel to the master; tests fake it. */
export interface ControlPlane {
  /** Health of the whole instance. Rejects when the master cannot be asked. */
  health(): Promise<HealthReport>
  /** All metrics of the instance in the Prometheus text exposition format. Rejects when the master cannot be asked. */
  metrics(): Promise<string>
  /** Whether this process has been told to stop. */
  isDraining(): boolean
}
