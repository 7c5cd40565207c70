// Runs the public suite for HTTP caches against the built product and prints how many tests of each group are passed:
//
//   bin/node test/http-cache-tests/print.ts
import { accepted } from './accepted.ts'
import { kindOf, table } from './judge.ts'
import { findSuite, runSuite } from './run-suite.ts'

const suite = await findSuite()
if (suite === undefined) {
  console.error('the suite cannot be fetched')
  process.exit(69)
}
const closers: (() => unknown)[] = []
const judged = await runSuite({ after: (close: () => unknown) => closers.unshift(close) }, suite)
for (const close of closers) await close()
console.log(table(judged))
for (const { test, verdict, message } of judged) {
  if (verdict !== 'failed' || kindOf(test) === 'check') continue
  console.log(`\n${test.id} (${kindOf(test)}): ${message}\n  ${accepted[test.id] ?? 'not accepted'}`)
}
process.exit(0)
