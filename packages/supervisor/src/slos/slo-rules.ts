import type { SloStatus } from '@svc/protocol'
import type { Reading, Rule } from '../alerts/rule.ts'
import { burnWindows } from './burn-rate.ts'

const common = {
  source: 'built_in',
  name: 'slo_burn',
  forMs: 0,
  unit: 'x budget',
  hint: 'The objective uses up its error budget too fast. GET /__svc/obs/slos has the windows; then see the flows and logs of the site.',
} as const

/** Undefined: some of its windows are unknown at the moment. */
function readingsOf({ name, site, burn_rates: rates }: SloStatus): Reading[] | undefined {
  const [first] = rates
  if (first === undefined || rates.length < burnWindows.length) return undefined
  const worst = rates.find((rate) => rate.is_burning)
  const value = Math.round((worst ?? first).long_rate * 100) / 100
  return [{ ...(site === null ? {} : { site }), subject: name, value, isTrue: worst !== undefined }]
}

/** Judges the objectives: one alert for each. */
export function sloRules(statuses: readonly SloStatus[]): Rule[] {
  if (statuses.length === 0) return [{ ...common, condition: '', readings: [] }]
  return statuses.map((status) => {
    const { name, site, kind, objective, threshold_ms: thresholdMs } = status
    const condition = JSON.stringify([name, site, kind, objective, thresholdMs])
    return { ...common, condition, readings: readingsOf(status) }
  })
}
