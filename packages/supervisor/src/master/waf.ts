import { tenantRulesProblem, type WafRule } from '@svc/config'
import { Gate } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { GenerationSpec, WafModeOrder, WafRemoval, WafRuleOrder } from '@svc/protocol'
import { checkedRule, ruleKey, WAF_MODE } from '../overrides/waf-settings.ts'
import { RuleRates } from '../waf/rule-rates.ts'
import { WafEvents } from '../waf/waf-events.ts'
import type { GenerationAccess, MasterDeps, MasterParts } from './parts.ts'

/** Makes the counts of the firewall, and the list of its matches. */
export function makeWafRecords(
  access: GenerationAccess,
  { clock }: Pick<MasterDeps, 'clock'>,
): Pick<MasterParts, 'ruleRates' | 'wafEvents' | 'wafChanges'> {
  return {
    ruleRates: new RuleRates(() => access.get().config.waf.rules, clock),
    wafEvents: new WafEvents(),
    wafChanges: new Gate(1),
  }
}

type WafParts = Pick<MasterParts, 'overrides' | 'spec' | 'reloader'>
type RuleParts = WafParts & Pick<MasterParts, 'wafChanges'>

/**
 * Sets the strongest action of all rules and packs in all workers, over restarts and reloads.
 * @throws SUP_OVERRIDE
 */
export async function setWafMode({ overrides, spec, reloader }: WafParts, { mode, username }: WafModeOrder): Promise<undefined> {
  await overrides.set(WAF_MODE, mode, username, spec(), reloader.change.bind(reloader))
}

/**
 * Adds or replaces a rule in all workers, over restarts and reloads. One change at a time: each is checked against those before.
 * @throws SUP_RULE_EXISTS, SUP_UNKNOWN_RULE, SUP_RULE_LIMIT, SUP_OVERRIDE with all errors of the rule
 */
export function setWafRule({ wafChanges, ...parts }: RuleParts, order: WafRuleOrder): Promise<undefined> {
  return wafChanges.run(() => changeRule(parts, order))
}

async function changeRule({ overrides, spec, reloader }: WafParts, order: WafRuleOrder): Promise<undefined> {
  const { id, isNew, username } = order
  const isKnown = spec().config.waf.rules.some((one) => one.id === id)
  if (isKnown && isNew) throw new SupervisorError('SUP_RULE_EXISTS', { id })
  if (!isKnown && !isNew) throw new SupervisorError('SUP_UNKNOWN_RULE', { id })
  const rule = await checkedRule(id, order.rule)
  const why = order.isOfTenant === true ? limitReached(spec(), rule) : undefined
  if (why !== undefined) throw new SupervisorError('SUP_RULE_LIMIT', { id, why })
  await overrides.set(ruleKey(id), rule, username, spec(), reloader.change.bind(reloader))
}

/** Returns the limit past which a rule brings the rules of all sites of its tenant; undefined: none. */
function limitReached({ config, sites }: Pick<GenerationSpec, 'config' | 'sites'>, rule: WafRule): string | undefined {
  const tenant = sites.find(({ id }) => id === rule.site)?.tenant
  const own = new Set(sites.filter((site) => site.tenant === tenant).map(({ id }) => id))
  const others = config.waf.rules.filter(({ id, site }) => id !== rule.id && site !== undefined && own.has(site))
  return tenantRulesProblem([...others, rule])
}

/**
 * Removes a rule in all workers. One of the configuration file stays removed over restarts and reloads, until it changes there, or its
 * override is reset.
 * @throws SUP_UNKNOWN_RULE, SUP_OVERRIDE
 */
export async function removeWafRule({ overrides, spec, reloader }: WafParts, { id, username }: WafRemoval): Promise<undefined> {
  if (!spec().config.waf.rules.some((one) => one.id === id)) throw new SupervisorError('SUP_UNKNOWN_RULE', { id })
  const key = ruleKey(id)
  const change = reloader.change.bind(reloader)
  // Where the file has no such rule, there is nothing to stand in for.
  if (overrides.value(key) !== undefined && overrides.base(key) === undefined) await overrides.reset(key, change)
  else await overrides.set(key, null, username, spec(), change)
}
