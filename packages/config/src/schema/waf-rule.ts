import { Pacer } from '@svc/core'
import { patternProblems } from '../values/waf-pattern.ts'
import { wafRule } from './protection.ts'
import type { WafRule } from './types.ts'

/** Reads a rule of the firewall that comes from elsewhere than the configuration file. Resolves with all errors of a wrong one. */
export async function readWafRule(value: unknown): Promise<WafRule | { readonly problems: readonly string[] }> {
  const result = wafRule.safeParse(value)
  if (!result.success) return { problems: result.error.issues.map(({ path, message }) => problemAt(path, message)) }
  const wrong = await patternProblems(result.data.when, new Pacer())
  return wrong.length === 0 ? result.data : { problems: wrong.map(({ path, message }) => problemAt(['when', ...path], message)) }
}

function problemAt(path: readonly PropertyKey[], message: string): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}
