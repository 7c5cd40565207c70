import { deepFreeze, Pacer } from '@svc/core'
import { patternProblems } from '../values/waf-pattern.ts'
import { wafRule } from './protection.ts'
import type { WafRule } from './types.ts'

/** Rules that were read, by the value that they were read from, and by themselves: a change reads its rule several times. */
const readRules = new WeakMap<object, WafRule>()

/** Reads a rule of the firewall that comes from elsewhere than the configuration file. Resolves with all errors of a wrong one. */
export async function readWafRule(value: unknown): Promise<WafRule | { readonly problems: readonly string[] }> {
  const known = typeof value === 'object' && value !== null ? readRules.get(value) : undefined
  if (known !== undefined) return known
  const result = wafRule.safeParse(value)
  if (!result.success) return { problems: result.error.issues.map(({ path, message }) => problemAt(path, message)) }
  const wrong = await patternProblems(result.data.when, new Pacer())
  if (wrong.length > 0) return { problems: wrong.map(({ path, message }) => problemAt(['when', ...path], message)) }
  const rule = deepFreeze(result.data)
  for (const read of [value as object, rule]) readRules.set(deepFreeze(read), rule)
  return rule
}

function problemAt(path: readonly PropertyKey[], message: string): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}
