// Checks what the structure of the product promises: packages import only packages of a lower rank, files have no import
// cycles, no file is over the limit of lines. Prints every breach and exits 1 when there is one.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const MAX_LINES = 400

const ranks = {
  core: 0,
  config: 1,
  http: 1,
  telemetry: 1,
  protocol: 2,
  auth: 2,
  cache: 2,
  site: 2,
  render: 3,
  admin: 3,
  worker: 4,
  supervisor: 4,
  cli: 5,
}
/** Imports that are allowed as types only: the importer does not run the other's code. */
const typeOnly = { protocol: ['config', 'http', 'cache'], render: ['config'] }

const breaches = []
const sources = new Map()

function collect(dir) {
  for (const name of readdirSync(dir)) {
    const path = join(dir, name)
    if (name === 'node_modules' || name === 'fixtures' || name.startsWith('.')) continue
    if (statSync(path).isDirectory()) collect(path)
    else if (/\.(ts|mts|mjs|js)$/.test(name) && !name.endsWith('.d.ts')) sources.set(path, readFileSync(path, 'utf8'))
  }
}

const importPattern = /^(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm

function importsOf(path) {
  const found = []
  for (const [, type, specifier] of sources.get(path).matchAll(importPattern))
    found.push({ isType: type !== undefined, specifier })
  return found
}

function checkRanks(path, owner) {
  for (const { specifier, isType } of importsOf(path)) {
    const target = /^@svc\/([a-z]+)/.exec(specifier)?.[1]
    if (target === undefined || target === owner || target === 'testkit') continue
    if (typeOnly[owner]?.includes(target)) {
      if (!isType) breaches.push(`${relative(root, path)}: ${owner} may import only types of ${target}`)
    } else if (!(ranks[target] < ranks[owner])) {
      breaches.push(`${relative(root, path)}: ${owner} (rank ${ranks[owner]}) imports ${target} (rank ${ranks[target]})`)
    }
  }
}

function checkCycles(files) {
  const state = new Map()
  const visit = (path, trail) => {
    if (state.get(path) === 'done') return
    if (state.get(path) === 'open') {
      const cycle = trail.slice(trail.indexOf(path)).map((file) => relative(root, file))
      breaches.push(`import cycle: ${cycle.join(' -> ')}`)
      return
    }
    state.set(path, 'open')
    for (const { specifier } of importsOf(path)) {
      if (!specifier.startsWith('.')) continue
      const target = resolve(dirname(path), specifier)
      if (sources.has(target)) visit(target, [...trail, path])
      else if (!existsSync(target)) breaches.push(`${relative(root, path)}: ${specifier} does not exist`)
    }
    state.set(path, 'done')
  }
  for (const path of files) visit(path, [])
}

function checkLength(path) {
  const lines = sources.get(path).split('\n').length - 1
  if (lines > MAX_LINES) breaches.push(`${relative(root, path)}: ${lines} lines, over ${MAX_LINES}`)
}

const packagesDir = join(root, 'packages')
for (const name of readdirSync(packagesDir)) {
  const srcDir = join(packagesDir, name, 'src')
  if (!existsSync(srcDir)) continue
  const before = new Set(sources.keys())
  collect(srcDir)
  const own = [...sources.keys()].filter((path) => !before.has(path))
  if (name !== 'testkit') for (const path of own) checkRanks(path, name)
  checkCycles(own)
}
for (const dir of ['scripts', 'bench', 'test']) if (existsSync(join(root, dir))) collect(join(root, dir))
for (const name of readdirSync(packagesDir)) {
  const testDir = join(packagesDir, name, 'test')
  if (existsSync(testDir)) collect(testDir)
}
for (const path of sources.keys()) checkLength(path)

for (const breach of breaches) console.error(breach)
if (breaches.length > 0) process.exitCode = 1
else console.log(`structure: ${sources.size} files in order`)
