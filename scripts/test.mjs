// Runs all steps of `npm test`: the checks and the build at once, then the tests.
//
//   node scripts/test.mjs           all
//   node scripts/test.mjs --check   format, lint, types and structure only
//   node scripts/test.mjs --unit    tests of the packages only
//   node scripts/test.mjs --campaigns   the slow tests that the others leave out: kills, faults, floods
//   node scripts/test.mjs --one FILE ...   the named test files, after a build of the programs that they start
//   With --times, prints the time of each test file.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const binary = (name) => join(root, 'node_modules/.bin', name)

function run(name, command, args) {
  const startedAt = Date.now()
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit' })
    child.on('error', (error) => {
      console.error(`${name}: ${error.message}`)
      resolve(false)
    })
    child.on('exit', (code) => {
      console.error(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`)
      resolve(code === 0)
    })
  })
}

/**
 * All sources with the options that they share are one program: each file is read and checked once. The guest and the panel have options of their own.
 * None of the checks keeps two cores busy all the time, so they run at once.
 */
async function checksOk() {
  const results = await Promise.all([
    run('types', binary('tsc'), ['-p', 'tsconfig.check.json']),
    run('types of the panel', binary('tsc'), ['-p', 'packages/panel/tsconfig.json']),
    run('types of the guest', binary('tsc'), ['-p', 'packages/guest/tsconfig.guest.json']),
    run('format and lint', binary('biome'), ['check', '--error-on-warnings', '.']),
    run('structure', process.execPath, ['scripts/check-structure.mjs']),
  ])
  return results.every(Boolean)
}

function runTests(...args) {
  return run('tests', join(root, 'bin/node'), ['--disable-warning=ExperimentalWarning', 'scripts/run-tests.mjs', ...args])
}

/** Reports mistyped names. */
function areThere(files) {
  const missing = files.filter((file) => !existsSync(resolve(file)))
  for (const file of missing) console.error(`no test file ${file}`)
  if (files.length === 0) console.error('name the test files to run: npm run test:one -- test/reload.test.ts')
  return files.length > 0 && missing.length === 0
}

async function main() {
  const args = process.argv.slice(2)
  const times = args.filter((arg) => arg === '--times')
  const [only, ...names] = args.filter((arg) => arg !== '--times')
  const files = names.map((name) => resolve(name))
  if (only !== undefined && !['--check', '--unit', '--campaigns', '--one'].includes(only)) {
    console.error(`unknown argument ${only}`)
    return false
  }
  if (only === '--one' && !areThere(files)) return false
  if (only === '--check') return checksOk()
  const isWhole = only === undefined
  const steps = [run('build', process.execPath, ['scripts/build.mjs', '--if-stale']), ...(isWhole ? [checksOk()] : [])]
  if (!(await Promise.all(steps)).every(Boolean)) return false
  if (only === '--unit') return runTests('--unit', ...times)
  if (only === '--one') return runTests(...files, ...times)
  if (!(await run('packages for tests', 'sh', ['scripts/test-setup.sh']))) return false
  return runTests(...(only === undefined ? [] : [only]), ...times)
}

process.exitCode = (await main()) ? 0 : 1
