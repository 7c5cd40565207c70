// Runs everything that `npm test` promises, in the order in which it fails fastest.
//
//   node scripts/test.mjs           all
//   node scripts/test.mjs --check   format, lint, types and structure only
//   node scripts/test.mjs --unit    tests of the packages only
//   node scripts/test.mjs --one FILE ...   the named test files, after a build of what they start
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const binary = (name) => join(root, 'node_modules/.bin', name)
/** A test that hangs must fail before the whole run does. It holds for each file as a whole too, on a machine that is slow and busy. */
const TEST_TIMEOUT_MS = 900_000
/** Files at a time: twice as many as there are cores, since most of them wait for processes and limits about half of their time. */
const TEST_CONCURRENCY = 2 * Math.max(2, availableParallelism())

/** Tests of the product that are run with engine node too: what depends on how connections are kept. */
const ENGINE_TESTS = ['test/drain.test.ts', 'test/request-loop.test.ts', 'test/slow-body.test.ts']

function run(name, command, args, env = {}) {
  const startedAt = Date.now()
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
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

/** All sources with the options that they share are one program: each file is read and checked once. The guest has options of its own. */
async function typesOk() {
  const projects = ['tsconfig.check.json', 'packages/guest/tsconfig.guest.json']
  let isOk = true
  for (const project of projects) isOk = (await run(`types ${project}`, binary('tsc'), ['-p', project])) && isOk
  return isOk
}

async function checksOk() {
  const results = [
    await run('format and lint', binary('biome'), ['check', '--error-on-warnings', '.']),
    await run('structure', process.execPath, ['scripts/check-structure.mjs']),
    await typesOk(),
  ]
  return results.every(Boolean)
}

function testFiles(isUnitOnly) {
  const packages = readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'test'))
  const dirs = (isUnitOnly ? packages : [...packages, 'test']).filter((dir) => existsSync(join(root, dir)))
  const files = dirs.flatMap((dir) => readdirSync(join(root, dir), { recursive: true }).map((name) => join(dir, name)))
  return files.filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules')).sort()
}

function runTests(name, files, env = {}) {
  const limits = [`--test-timeout=${TEST_TIMEOUT_MS}`, `--test-concurrency=${TEST_CONCURRENCY}`]
  const args = ['--disable-warning=ExperimentalWarning', '--test', '--test-reporter=spec', ...limits]
  return run(name, join(root, 'bin/node'), [...args, ...files], env)
}

async function testsOk(isUnitOnly) {
  const files = testFiles(isUnitOnly)
  if (files.length === 0) throw new Error('no test files found')
  const isOk = await runTests('tests', files)
  if (isUnitOnly) return isOk
  return (await runTests('tests with engine node', ENGINE_TESTS, { TEST_ENGINE: 'node' })) && isOk
}

/** The runner passes when a pattern matches no file, so each file is looked for first. */
function areThere(files) {
  const missing = files.filter((file) => !existsSync(resolve(file)))
  for (const file of missing) console.error(`no test file ${file}`)
  if (files.length === 0) console.error('name the test files to run: npm run test:one -- test/reload.test.ts')
  return files.length > 0 && missing.length === 0
}

async function main() {
  const [only, ...names] = process.argv.slice(2)
  const files = names.map((name) => resolve(name))
  if (only === '--one' && !areThere(files)) return false
  if (only !== '--one' && only !== '--unit' && !(await checksOk())) return false
  if (only === '--check') return true
  if (!(await run('build', process.execPath, ['scripts/build.mjs', '--if-stale']))) return false
  if (only === '--unit') return testsOk(true)
  if (only === '--one') return runTests('tests', files)
  if (!(await run('packages for tests', 'sh', ['scripts/test-setup.sh']))) return false
  return testsOk(false)
}

process.exitCode = (await main()) ? 0 : 1
