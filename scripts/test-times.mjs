// Notes the processor time of a test file and of the programs that it started, for `npm test -- --times`.
// `run-tests.mjs` imports it into the process of each test file.
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Ticks of the clock in one second of `/proc`: fixed on Linux. */
const TICKS_PER_SECOND = 100

/**
 * Seconds of processor time of this process and of those that it, and they, have waited for. Workers of a master that was killed are
 * not among them.
 */
function cpuSeconds() {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The name of the program, in parentheses, may have spaces. utime is field 14 of proc_pid_stat(5), cstime is 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields.slice(11, 15).map(Number)
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND
}

process.on('exit', () => {
  const runDir = process.env['TEST_RUN_DIR']
  if (runDir === undefined) return
  const times = { file: process.argv[1], startedAt: performance.timeOrigin, cpuSeconds: cpuSeconds() }
  appendFileSync(join(runDir, 'times'), `${JSON.stringify(times)}\n`)
})
