import type { Config } from '../schema/types.ts'
import { type Finding, findingIf } from '../values/finding.ts'

/** Checks that objectives and alerts have the thresholds that they need. */
export function checkObs({ obs }: Config): Finding[] {
  const slos = obs.slos.flatMap((slo, index) =>
    findingIf(
      slo.kind === 'latency' && slo.threshold_ms === undefined,
      ['obs', 'slos', index, 'threshold_ms'],
      'is required for kind "latency"',
    ),
  )
  const alerts = obs.alerts.flatMap((alert, index) =>
    findingIf(
      (alert.above === undefined) === (alert.below === undefined),
      ['obs', 'alerts', index],
      'needs either "above" or "below"',
    ),
  )
  return [...slos, ...alerts]
}
