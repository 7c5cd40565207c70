import type { WafEvent } from '@svc/protocol'
import type { ControlPlane, WafRuleSummary } from '../src/index.ts'

const wafRule = (id: string, site?: string): WafRuleSummary => ({ id, site, action: 'block', when: { path: '^/x' } })

/** A match of a rule of the firewall. */
export const wafEvent: WafEvent = {
  at: '2026-01-01T00:00:00.000Z',
  request_id: 'id-8',
  rule: 'of-shop',
  action: 'block',
  site: 'shop',
  client: '192.0.2.1',
  method: 'GET',
  path: '/x',
}

/** The firewall of a plane, which notes what it was asked for. */
export function wafOf(calls: unknown[]): ControlPlane['waf'] {
  return {
    mode: () => 'block',
    packs: () => ({ sqli: 'monitor' }),
    rules: () => [wafRule('everywhere'), wafRule('of-shop', 'shop'), wafRule('of-blog', 'blog')],
    test: (probe) => {
      calls.push({ test: probe })
      return { action: 'block', rule: 'everywhere', matched: true }
    },
    events: async (query) => {
      calls.push({ wafEvents: query })
      return { events: (query.sites?.includes('shop') ?? true) ? [wafEvent] : [], cursor: null }
    },
    setMode: async (order) => void calls.push({ setMode: order }),
    setRule: async (order) => void calls.push({ setRule: order }),
    removeRule: async (order) => void calls.push({ removeRule: order }),
  }
}
