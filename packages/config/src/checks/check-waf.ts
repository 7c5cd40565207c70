import { Pacer } from '@svc/core'
import type { Config } from '../schema/types.ts'
import { type Finding, findingIf } from '../values/finding.ts'
import { patternProblems, rulesProblem } from '../values/waf-pattern.ts'

/** Checks the patterns of the firewall, in slices between which the process does other work, and what all rules need together. */
export async function checkWaf({ waf: { rules } }: Config): Promise<Finding[]> {
  const pacer = new Pacer()
  const findings: Finding[] = []
  for (const [index, { when }] of rules.entries()) {
    const wrong = await patternProblems(when, pacer)
    findings.push(...wrong.map(({ path, message }) => ({ path: ['waf', 'rules', index, 'when', ...path], message })))
  }
  if (findings.length > 0) return findings
  const problem = rulesProblem(rules)
  return findingIf(problem !== undefined, ['waf', 'rules'], problem ?? '', 'use shorter patterns, or fewer')
}
