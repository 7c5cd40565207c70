import type { Config, RouteRule } from '../schema/types.ts'
import { type Finding, findingIf } from '../values/finding.ts'
import type { KeyPath } from '../values/key-path.ts'
import { checkPattern, checkRedirect, checkRewrite, checkUpstream } from './rule-texts.ts'

const targets = ['redirect', 'rewrite', 'upstream'] as const
/** The key that each action cannot do without. */
const needs = { redirect: 'redirect', rewrite: 'rewrite', proxy: 'upstream' } as const

function isEmptyHeaders(rule: RouteRule): boolean {
  return Object.keys(rule.headers).length === 0
}

function checkRule(rule: RouteRule, path: KeyPath, upstreams: ReadonlySet<string>): Finding[] {
  return [...checkAction(rule, path), ...checkTexts(rule, path, upstreams)]
}

function checkTexts(
  { pattern, redirect, rewrite, upstream }: RouteRule,
  path: KeyPath,
  upstreams: ReadonlySet<string>,
): Finding[] {
  const at = (key: string, message: string | undefined) => (message === undefined ? [] : [{ path: [...path, key], message }])
  return [
    ...at('pattern', checkPattern(pattern)),
    ...(redirect === undefined ? [] : at('redirect', checkRedirect(redirect, pattern))),
    ...(rewrite === undefined ? [] : at('rewrite', checkRewrite(rewrite, pattern))),
    ...(upstream === undefined ? [] : at('upstream', checkUpstream(upstream, upstreams))),
  ]
}

function checkAction(rule: RouteRule, path: KeyPath): Finding[] {
  const given = targets.filter((key) => rule[key] !== undefined)
  const [first, second] = given
  if (first !== undefined && second !== undefined)
    return [{ path: [...path, second], message: `"${first}" is already the target of the rule` }]
  if (rule.action === 'headers') {
    if (first !== undefined) return [{ path: [...path, 'action'], message: `cannot be combined with "${first}"` }]
    return findingIf(
      isEmptyHeaders(rule),
      path,
      'the rule does nothing',
      'give it redirect, rewrite, upstream, headers or action',
    )
  }
  const needed = rule.action === 'block' ? undefined : needs[rule.action]
  const isForeign = first !== undefined && first !== needed
  return [
    ...findingIf(needed !== undefined && first === undefined, [...path, 'action'], `"${rule.action}" needs "${needed}"`),
    ...findingIf(isForeign, [...path, 'action'], `cannot be combined with "${first}"`),
    ...findingIf(rule.strip_prefix !== undefined && rule.action !== 'proxy', [...path, 'strip_prefix'], 'needs "upstream"'),
  ]
}

/**
 * Checks that every rule has one clear thing to do, and that its texts can be read.
 * @param upstreams names that vhost files give to upstreams
 */
export function checkRouteRules(config: Config, upstreams: ReadonlySet<string>): Finding[] {
  const own = config.sites.flatMap((site, index) =>
    site.route_rules.flatMap((rule, ruleIndex) => checkRule(rule, ['sites', index, 'route_rules', ruleIndex], upstreams)),
  )
  return [...config.route_rules.flatMap((rule, index) => checkRule(rule, ['route_rules', index], upstreams)), ...own]
}
