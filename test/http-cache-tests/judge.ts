import type { SuiteGroup, SuiteResult, SuiteTest } from './suite.ts'

/** Meaning of a result. `idle`: it says nothing, since a test that it builds on was not passed. */
export type Verdict = 'passed' | 'failed' | 'idle'

/** A test with what came of it. */
export interface Judged {
  readonly test: SuiteTest
  readonly group: SuiteGroup
  readonly verdict: Verdict
  /** Reason of the failure; "" when the test passed. */
  readonly message: string
}

/** The kind of a test. */
export function kindOf({ kind }: SuiteTest): 'required' | 'optimal' | 'check' {
  return kind ?? 'required'
}

/** Judges results by the rules of the suite. Tests for browsers are left out. */
export function judge(groups: readonly SuiteGroup[], results: ReadonlyMap<string, SuiteResult>): Judged[] {
  const byId = new Map(groups.flatMap(({ tests }) => tests.map((test) => [test.id, test] as const)))
  const verdictOf = ({ id, depends_on: needed = [] }: SuiteTest): Verdict => {
    const isIdle = needed.some((other) => {
      const test = byId.get(other)
      return test !== undefined && verdictOf(test) !== 'passed'
    })
    if (isIdle) return 'idle'
    return results.get(id) === true ? 'passed' : 'failed'
  }
  return groups.flatMap((group) =>
    group.tests
      .filter((test) => test.browser_only !== true)
      .map((test) => ({ test, group, verdict: verdictOf(test), message: messageOf(results.get(test.id)) })),
  )
}

function messageOf(result: SuiteResult | undefined): string {
  if (result === true) return ''
  return result === undefined ? 'it was not run' : result.join(': ')
}

/** One line for each group: how many of its tests were passed, by kind. */
export function table(judged: readonly Judged[]): string {
  const names = [...new Set(judged.map(({ group }) => group.name))]
  const rows = names.map((name) => [name, ...countsOf(judged.filter(({ group }) => group.name === name))])
  rows.push(['all', ...countsOf(judged)])
  const lines = [['group', 'required', 'optimal', 'idle'], ...rows].map(([name = '', ...counts]) => {
    return `${name.padEnd(44)}${counts.map((count) => count.padStart(11)).join('')}`
  })
  return lines.join('\n')
}

/** Passed of all that say something, for the two kinds that ask for something; then those that say nothing. */
function countsOf(judged: readonly Judged[]): string[] {
  const counts = (['required', 'optimal'] as const).map((kind) => {
    const some = judged.filter(({ test, verdict }) => kindOf(test) === kind && verdict !== 'idle')
    return `${some.filter(({ verdict }) => verdict === 'passed').length}/${some.length}`
  })
  return [...counts, String(judged.filter(({ test, verdict }) => kindOf(test) !== 'check' && verdict === 'idle').length)]
}
