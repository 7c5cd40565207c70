import { messageOf } from '@svc/core'
import { hostilePatternLimits, LinearPattern, PatternSyntaxError } from '@svc/http'

/** Rules of the firewall, whether the configuration or the admin API has them. */
export const MAX_WAF_RULES = 500

/** The patterns of a rule. */
interface PatternConditions {
  readonly path?: string | undefined
  readonly method?: string | undefined
  readonly query?: string | undefined
  readonly user_agent?: string | undefined
  readonly body?: string | undefined
  readonly header?: Readonly<Record<string, string>> | undefined
}

/** Returns the error in a pattern of the firewall, or undefined. */
export function patternProblem(source: string): string | undefined {
  try {
    LinearPattern.compile(source, hostilePatternLimits)
    return undefined
  } catch (error) {
    const hint = error instanceof PatternSyntaxError && error.hint !== undefined ? ` (${error.hint})` : ''
    return `the pattern cannot be used: ${messageOf(error)}${hint}`
  }
}

/** All patterns of a rule. */
export function patternsOf({ path, method, query, user_agent: userAgent, body, header }: PatternConditions): string[] {
  return [path, method, query, userAgent, body, ...Object.values(header ?? {})].filter((source) => source !== undefined)
}

/** Entries of the tables of all patterns of a worker: four bytes each. */
const MAX_CELLS = 4_000_000

/** Returns the error in rules that are each right, or undefined. */
export function rulesProblem(rules: readonly { readonly when: PatternConditions }[]): string | undefined {
  if (rules.length > MAX_WAF_RULES) return `there are more than ${MAX_WAF_RULES} rules`
  const sources = new Set(rules.flatMap(({ when }) => patternsOf(when)))
  let cells = 0
  for (const source of sources) cells += LinearPattern.compile(source, hostilePatternLimits).cells
  return cells > MAX_CELLS ? 'the patterns of all rules together need too much memory' : undefined
}
