import type { RouteRule } from '@svc/config'
import type { RuleMatch, RuleRequest, RuleTable } from '@svc/http'
import { type CompiledRule, compileRules } from './compiled-rule.ts'

/** Lists of rules, compiled when they are first used. A list that is gone is forgotten. */
export class RuleTables {
  readonly #tables = new WeakMap<readonly RouteRule[], RuleTable<CompiledRule>>()

  of(rules: readonly RouteRule[]): RuleTable<CompiledRule> {
    let table = this.#tables.get(rules)
    if (table === undefined) {
      table = compileRules(rules)
      this.#tables.set(rules, table)
    }
    return table
  }

  /** The rule that decides about a request: the first that does more than set fields. */
  deciding(lists: readonly (readonly RouteRule[])[], request: RuleRequest): RuleMatch<CompiledRule> | undefined {
    for (const list of lists) {
      if (list.length === 0) continue
      for (const match of this.of(list).matches(request)) {
        if (match.isForMethod && match.rule.act.kind !== 'headers') return match
      }
    }
    return undefined
  }
}
