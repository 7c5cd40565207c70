// Runs test files, each in a process of its own, with the bundled Node; exits with 1 when a test fails.
//
//   bin/node scripts/run-tests.mjs           all, bundled and in groups: see test-plan.mjs
//   bin/node scripts/run-tests.mjs --unit    those of the packages
//   bin/node scripts/run-tests.mjs FILE ...  the named files
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { bundleDir, testPlan } from './test-plan.mjs'

/** A file that hangs must fail before the whole run does. The slowest takes about a third of this on two cores. */
const FILE_TIMEOUT_MS = 180_000
/** A file uses a third of a core: it waits for its programs, for limits and timers (see test-plan.mjs). */
const FILES_AT_A_TIME = 3 * Math.max(2, availableParallelism())
const SLOWEST_SHOWN = 10

function printSlowest(durations) {
  const slowest = durations.sort((one, other) => other.duration_ms - one.duration_ms).slice(0, SLOWEST_SHOWN)
  const nameOf = (file) =>
    relative(bundleDir, file)
      .replace(/\.mjs$/, '')
      .replace(/\.test$/, '.test.ts')
  const lines = slowest.map(({ file, duration_ms }) => `  ${(duration_ms / 1000).toFixed(1)} s  ${nameOf(file)}`)
  console.error(`slowest files:\n${lines.join('\n')}`)
}

const names = process.argv.slice(2)
const isPlanned = names.length === 0 || names[0] === '--unit'
const files = isPlanned ? await testPlan({ isUnitOnly: names[0] === '--unit' }) : names.map((name) => resolve(name))
const durations = []
run({ files, concurrency: FILES_AT_A_TIME, timeout: FILE_TIMEOUT_MS, execArgv: ['--enable-source-maps'] })
  .on('test:fail', () => {
    process.exitCode = 1
  })
  .on('test:summary', (summary) => {
    if (summary.file !== undefined) durations.push(summary)
    else if (isPlanned) printSlowest(durations)
  })
  .compose(spec)
  .pipe(process.stdout)
