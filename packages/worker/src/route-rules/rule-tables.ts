import type { RouteRule } from '@svc/config'
import {
  compilePathPattern,
  compileTarget,
  type HeaderList,
  type RuleMatch,
  type RuleRequest,
  RuleTable,
  type RuleTarget,
} from '@svc/http'
import type { LocationSettings } from '@svc/vhosts'
import { type RulePlace, ruleLocation } from './rule-location.ts'

/** The effect of a rule on a request. */
export type RuleAct =
  /** Only its fields apply: the next rule is checked. */
  | { readonly kind: 'headers' }
  | { readonly kind: 'block' }
  | { readonly kind: 'redirect'; readonly status: number; readonly target: RuleTarget }
  | { readonly kind: 'rewrite'; readonly target: RuleTarget }
  | { readonly kind: 'proxy'; readonly settings: LocationSettings; readonly place: RulePlace }

/** A rule, ready to be matched. */
export interface CompiledRule extends Pick<RouteRule, 'pattern' | 'host' | 'methods'> {
  /** Fields of whatever answers. */
  readonly headers: HeaderList
  readonly act: RuleAct
}

/** Compiles the rules of a list, in their order. */
function compileRules(rules: readonly RouteRule[]): RuleTable<CompiledRule> {
  return new RuleTable(
    rules.map((rule) => {
      const { pattern, host, methods, headers } = rule
      return { pattern, host, methods, headers: Object.entries(headers), act: actOf(rule) }
    }),
  )
}

function actOf(rule: RouteRule): RuleAct {
  const { action, redirect, redirect_status: status, rewrite, upstream, strip_prefix: stripPrefix } = rule
  const targetOf = (text: string) => compileTarget(text, compilePathPattern(rule.pattern))
  if (action === 'block') return { kind: 'block' }
  if (action === 'redirect' && redirect !== undefined) return { kind: 'redirect', status, target: targetOf(redirect) }
  if (action === 'rewrite' && rewrite !== undefined) return { kind: 'rewrite', target: targetOf(rewrite) }
  if (action === 'proxy' && upstream !== undefined) return { kind: 'proxy', ...ruleLocation(upstream, stripPrefix) }
  return { kind: 'headers' }
}

/** Lists of rules, compiled when they are first used. A list that was removed is dropped. */
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
