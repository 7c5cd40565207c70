// Runs everything that `npm test` promises, in the order in which it fails fastest.
//
//   node scripts/test.mjs           all
//   node scripts/test.mjs --check   format, lint, types and structure only
//   node scripts/test.mjs --unit    tests of the packages only
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
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
  const projects = ['tsconfig.check.json', 'packages/render/tsconfig.guest.json']
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

async function testsOk(isUnitOnly) {
  const files = testFiles(isUnitOnly)
  if (files.length === 0) throw new Error('no test files found')
  const limits = [`--test-timeout=${TEST_TIMEOUT_MS}`, `--test-concurrency=${TEST_CONCURRENCY}`]
  const args = ['--disable-warning=ExperimentalWarning', '--test', '--test-reporter=spec', ...limits]
  const node = join(root, 'bin/node')
  const isOk = await run('tests', node, [...args, ...files])
  if (isUnitOnly) return isOk
  return (await run('tests with engine node', node, [...args, ...ENGINE_TESTS], { TEST_ENGINE: 'node' })) && isOk
}

async function main() {
  const only = process.argv[2]
  if (only !== '--unit' && !(await checksOk())) return false
  if (only === '--check') return true
  if (!(await run('build', process.execPath, ['scripts/build.mjs', '--if-stale']))) return false
  if (only === '--unit') return testsOk(true)
  if (!(await run('packages for tests', 'sh', ['scripts/test-setup.sh']))) return false
  return testsOk(false)
}

process.exitCode = (await main()) ? 0 : 1
