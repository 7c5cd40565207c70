import { messageOf, type Pacer } from '@svc/core'
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

type Rules = readonly { readonly when: PatternConditions }[]

/** Bounds of rules together. */
interface RuleLimits {
  readonly rules: number
  /** Different ones. */
  readonly patterns: number
  /** Entries of the tables of all of them: four bytes each. */
  readonly cells: number
}

/** Of all rules. */
const LIMITS: RuleLimits = { rules: MAX_WAF_RULES, patterns: 2_000, cells: 4_000_000 }
/** Of the rules that are bound to the sites of one tenant, so that ten tenants do not crowd out the others. */
const TENANT_LIMITS: RuleLimits = { rules: 50, patterns: 100, cells: 400_000 }

/** Entries of the table of each pattern, by the conditions of a rule, which never change: compiling a pattern takes up to 15 ms. */
const knownCells = new WeakMap<PatternConditions, ReadonlyMap<string, number>>()

/** The patterns of a rule, by the keys that lead to them. */
function patternsByPath({ header, ...own }: PatternConditions): [path: readonly string[], source: string][] {
  const { path, method, query, user_agent, body } = own
  const fields = Object.entries(header ?? {}).map(([name, source]) => [['header', name], source] as const)
  const all = [
    ...Object.entries({ path, method, query, user_agent, body }).map(([key, source]) => [[key], source] as const),
    ...fields,
  ]
  return all.flatMap(([at, source]) => (source === undefined ? [] : [[at, source]]))
}

/** All patterns of a rule. */
export function patternsOf(when: PatternConditions): string[] {
  return patternsByPath(when).map(([, source]) => source)
}

/** An error in one of the patterns of a rule. */
interface PatternProblem {
  /** Keys that lead to it. */
  readonly path: readonly string[]
  readonly message: string
}

/** Compiles the patterns of a rule, in slices between which the process does other work. Returns the errors. */
export async function patternProblems(when: PatternConditions, pacer: Pacer): Promise<readonly PatternProblem[]> {
  const cells = new Map<string, number>()
  const problems: PatternProblem[] = []
  for (const [path, source] of patternsByPath(when)) {
    try {
      cells.set(source, (await LinearPattern.compileInSlices(source, hostilePatternLimits, pacer)).cells)
    } catch (error) {
      const hint = error instanceof PatternSyntaxError && error.hint !== undefined ? ` (${error.hint})` : ''
      problems.push({ path, message: `the pattern cannot be used: ${messageOf(error)}${hint}` })
    }
  }
  if (problems.length === 0) knownCells.set(when, cells)
  return problems
}

function cellsOf(when: PatternConditions): ReadonlyMap<string, number> {
  const known = knownCells.get(when)
  if (known !== undefined) return known
  const cells = new Map(patternsOf(when).map((source) => [source, LinearPattern.compile(source, hostilePatternLimits).cells]))
  knownCells.set(when, cells)
  return cells
}

/** Returns the error in rules that are each right, or undefined. */
export function rulesProblem(rules: Rules): string | undefined {
  return problemWithin(LIMITS, rules)
}

/** The same for all rules that are bound to the sites of a tenant. */
export function tenantRulesProblem(rules: Rules): string | undefined {
  return problemWithin(TENANT_LIMITS, rules)
}

function problemWithin(limits: RuleLimits, rules: Rules): string | undefined {
  if (rules.length > limits.rules) return `there are more than ${limits.rules} rules`
  const cells = new Map<string, number>()
  for (const { when } of rules) for (const [source, count] of cellsOf(when)) cells.set(source, count)
  if (cells.size > limits.patterns) return `the rules have more than ${limits.patterns} different patterns`
  const sum = [...cells.values()].reduce((total, count) => total + count, 0)
  return sum > limits.cells ? 'the patterns of all rules together need too much memory' : undefined
}
