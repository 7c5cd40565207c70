import { type Config, readWafRule, rulesProblem, type WafRule } from '@svc/config'
import { deepFreeze } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { Overridable, Setting } from './setting.ts'

/** The key of the mode of the firewall. */
export const WAF_MODE = 'waf.mode'
const RULE_PREFIX = 'waf.rules.'
const modes: readonly unknown[] = ['off', 'monitor', 'block'] satisfies Config['waf']['mode'][]

/** The key of a rule of the firewall. Its value: the rule, or null where it has been removed. */
export function ruleKey(id: string): string {
  return `${RULE_PREFIX}${id}`
}

/** The mode, or a rule, which need not exist. */
export function wafSetting(key: string, { config: { waf } }: Overridable): Setting | undefined {
  if (key === WAF_MODE) return modeSetting(waf.mode)
  if (!key.startsWith(RULE_PREFIX)) return undefined
  const id = key.slice(RULE_PREFIX.length)
  return {
    value: waf.rules.find((rule) => rule.id === id),
    write: async (served, value) => {
      const rule = value === undefined || value === null ? undefined : await checkedRule(id, value)
      const rules = withRule(served.config.waf.rules, id, rule)
      const problem = rule === undefined ? undefined : rulesProblem(rules)
      if (problem !== undefined) throw new SupervisorError('SUP_OVERRIDE', `rule ${id} cannot be added: ${problem}`)
      return withWaf(served, { rules })
    },
  }
}

function modeSetting(mode: Config['waf']['mode']): Setting {
  return {
    value: mode,
    write: async (served, value) => {
      if (!modes.includes(value)) throw new SupervisorError('SUP_OVERRIDE', `${WAF_MODE} must be "off", "monitor" or "block"`)
      return withWaf(served, { mode: value as Config['waf']['mode'] })
    },
  }
}

/** @throws SUP_OVERRIDE with all errors of a wrong rule */
export async function checkedRule(id: string, value: unknown): Promise<WafRule> {
  const rule = await readWafRule(value)
  if ('problems' in rule) throw new SupervisorError('SUP_OVERRIDE', `rule ${id} is wrong: ${rule.problems.join('; ')}`)
  if (rule.id !== id) throw new SupervisorError('SUP_OVERRIDE', `rule ${id} is stored as ${ruleKey(rule.id)}`)
  return rule
}

/** A changed rule keeps its place; a new one is the last. */
function withRule(rules: readonly WafRule[], id: string, rule: WafRule | undefined): readonly WafRule[] {
  if (rule === undefined) return rules.filter((one) => one.id !== id)
  return rules.some((one) => one.id === id) ? rules.map((one) => (one.id === id ? rule : one)) : [...rules, rule]
}

function withWaf<T extends Overridable>(served: T, changed: Partial<Config['waf']>): T {
  return { ...served, config: deepFreeze({ ...served.config, waf: { ...served.config.waf, ...changed } }) }
}
