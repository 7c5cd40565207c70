import { wafRule } from './protection.ts'
import type { WafRule } from './types.ts'

/** Reads a rule of the firewall that comes from elsewhere than the configuration file. Returns all errors of a wrong one. */
export function readWafRule(value: unknown): WafRule | { readonly problems: readonly string[] } {
  const result = wafRule.safeParse(value)
  if (result.success) return result.data
  return {
    problems: result.error.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)),
  }
}
