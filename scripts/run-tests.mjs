// Runs test files, each in a process of its own, with the bundled Node; exits with 1 when a test fails.
//
//   bin/node scripts/run-tests.mjs           all, bundled and in groups: see test-plan.mjs
//   bin/node scripts/run-tests.mjs --unit    those of the packages
//   bin/node scripts/run-tests.mjs --campaigns   those that the others leave out
//   bin/node scripts/run-tests.mjs FILE ...  the named files
//   With --times, prints the time of each file.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { sourcePositions } from './source-positions.mjs'
import { bundleDir, testPlan } from './test-plan.mjs'
import { codeCacheDir, warmCodeCache } from './warm-code-cache.mjs'

/** A file that hangs must fail before the whole run does. The slowest takes about a third of this on two cores that nothing else uses. */
const FILE_TIMEOUT_MS = 300_000
/** A file uses a third of a core: it waits for its programs, for limits and timers (see test-plan.mjs). */
const FILES_AT_A_TIME = 3 * Math.max(2, availableParallelism())
const SLOWEST_SHOWN = 10
/** Failures in more files than this are no matter of chance. */
const MOST_AGAIN = 6

/** Each process of a test file appends its times (see test-times.mjs). @returns times by path of the file */
function notedTimes(path) {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  return new Map(lines.map((line) => JSON.parse(line)).map((times) => [times.file, times]))
}

const nameOf = (file) =>
  relative(isPlanned ? bundleDir : process.cwd(), file)
    .replace(/\.mjs$/, '')
    .replace(/\.test$/, '.test.ts')

/** Prints the slowest files, or all in the order in which they started: seconds from start to end, and of the processor. */
function printTimes(durations, { isWhole, startedAt }) {
  const times = notedTimes(join(runDir, 'times'))
  const files = durations.map(({ file, duration_ms }) => {
    const noted = times.get(file)
    const begin = noted === undefined ? 0 : (noted.startedAt - startedAt) / 1000
    return { name: nameOf(file), seconds: duration_ms / 1000, begin, cpuSeconds: noted?.cpuSeconds ?? 0 }
  })
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, SLOWEST_SHOWN)
  const shown = isWhole ? files.toSorted((one, other) => one.begin - other.begin) : slowest
  const total = files.reduce((sum, file) => sum + file.cpuSeconds, 0)
  const wall = (Date.now() - startedAt) / 1000
  console.error(`${isWhole ? 'files' : 'slowest files'}: start, seconds, seconds of the processor`)
  for (const { name, seconds, begin, cpuSeconds } of shown) {
    const columns = [begin, seconds, cpuSeconds].map((value) => value.toFixed(1).padStart(7))
    console.error(`${columns.join(' ')}  ${name}`)
  }
  console.error(`all: ${wall.toFixed(1)} s, ${total.toFixed(1)} s of the processor`)
}

const options = process.argv.slice(2).filter((name) => name.startsWith('--'))
const names = process.argv.slice(2).filter((name) => !name.startsWith('--'))
const isPlanned = names.length === 0
const selection = ['unit', 'campaigns'].find((name) => options.includes(`--${name}`)) ?? 'all'
const warm = isPlanned && selection !== 'unit' ? warmCodeCache() : undefined
const files = isPlanned ? await testPlan(selection) : names.map((name) => resolve(name))
await warm
const startedAt = Date.now()
// Of all processes of this run: their times, and programs that several test files start.
const runDir = mkdtempSync(join(tmpdir(), 'svc-test-run-'))
process.env['TEST_RUN_DIR'] = runDir
process.on('exit', () => rmSync(runDir, { recursive: true, force: true }))
// Compiled code of the bundles and of the product: processes share most of it.
if (isPlanned) process.env['NODE_COMPILE_CACHE'] = codeCacheDir
const isWhole = options.includes('--times')
const durations = []
const times = new URL('./test-times.mjs', import.meta.url).href

/** Runs test files, each in a process of its own. @returns the files with a failure */
function runFiles(files, concurrency) {
  const failed = new Set()
  const { promise, resolve } = Promise.withResolvers()
  run({ files, concurrency, timeout: FILE_TIMEOUT_MS, execArgv: ['--import', times] })
    // A process that was killed has no summary.
    .on('test:fail', ({ file }) => files.includes(file) && failed.add(file))
    .on('test:summary', (summary) => {
      if (summary.file === undefined) resolve(summary.success || failed.size > 0 ? [...failed] : files)
      else {
        durations.push(summary)
        if (!summary.success) failed.add(summary.file)
      }
    })
    .compose(sourcePositions())
    .compose(spec)
    .pipe(process.stdout, { end: false })
  return promise
}

/**
 * A machine that is too busy makes a test wait longer than it allows. So a few files that failed beside others run once more, one at a
 * time, and what fails then has failed; what does not is named, because it should be mended.
 */
async function runAgain(failed) {
  console.error(`\nonce more, one at a time: ${failed.map(nameOf).join(', ')}\n`)
  const again = await runFiles(failed, 1)
  const unsteady = failed.filter((file) => !again.includes(file)).map(nameOf)
  if (unsteady.length > 0) console.error(`UNSTEADY: failed beside other files, and passed alone: ${unsteady.join(', ')}`)
  return again
}

let failed = await runFiles(files, FILES_AT_A_TIME)
if (isPlanned || isWhole) printTimes(durations, { isWhole, startedAt })
if (isPlanned && failed.length > 0 && failed.length <= MOST_AGAIN) failed = await runAgain(failed)
if (failed.length > 0) {
  console.error(`failed: ${failed.map(nameOf).join(', ')}`)
  process.exitCode = 1
}
