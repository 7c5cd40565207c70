import type { RouteRule } from '@svc/config'
import { compilePathPattern, compileTarget, type HeaderList, RuleTable, type RuleTarget } from '@svc/http'
import type { LocationSettings } from '@svc/vhosts'
import { type RulePlace, ruleLocation } from './rule-location.ts'

/** What a rule does, once it is a request's. */
export type RuleAct =
  /** Nothing but its fields: the next rule is looked at. */
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
export function compileRules(rules: readonly RouteRule[]): RuleTable<CompiledRule> {
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
