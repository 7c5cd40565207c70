import type { AlertReport, Silence, SloStatus } from '@svc/protocol'
import type { ControlPlane } from '../src/index.ts'

const slo = { kind: 'availability', objective: 0.999, threshold_ms: null, window_days: 30, total: 1000, good: 999 } as const
const counted = { ratio: 0.999, budget_left: 0, counted_since: '2026-01-01T00:00:00.000Z' }
const rate = { long_window: '1h', long_rate: 1, short_window: '5m', short_rate: 0.5, threshold: 14.4, is_burning: false }
/** Service level objectives of two sites, and of all. */
export const slos: readonly SloStatus[] = [
  { ...slo, ...counted, name: 'shop-up', site: 'shop', burn_rates: [rate] },
  { ...slo, ...counted, name: 'blog-up', site: 'blog', burn_rates: [rate] },
  {
    ...slo,
    name: 'all',
    site: null,
    total: null,
    good: null,
    ratio: null,
    budget_left: null,
    counted_since: null,
    burn_rates: [],
  },
]

const alert = { source: 'built_in', since: '2026-01-01T00:00:00.000Z', subject: '', hint: 'do this', silence: null } as const
/** Alerts of two sites, and of the machine. */
export const alerts: AlertReport['alerts'] = [
  { ...alert, name: 'site_unit_away', state: 'firing', value: 1, unit: '', site: 'shop' },
  { ...alert, name: 'site_unit_away', state: 'pending', value: 1, unit: '', site: 'blog' },
  { ...alert, name: 'disk_space', state: 'ok', value: 50.5, unit: '% free', site: null, subject: '/var/cache/blog' },
]

/** A silence of an alert of the site shop. */
export const silence: Silence = {
  id: 'abc',
  name: 'site_unit_away',
  site: 'shop',
  subject: '',
  until: '2126-01-01T00:00:00.000Z',
  reason: 'planned',
  username: 'root',
  at: '2026-01-01T00:00:00.000Z',
}

/** The alerts, and one silence. */
export function alertsOf(calls: unknown[]): ControlPlane['alerts'] {
  return {
    report: async () => ({ evaluated_at: '2026-01-01T00:00:00.000Z', alerts }),
    silences: async () => [silence],
    silence: async (order) => {
      calls.push({ silence: order })
      return { ...silence, ...order }
    },
    endSilence: async (id) => {
      calls.push({ endSilence: id })
      return id === silence.id
    },
  }
}
