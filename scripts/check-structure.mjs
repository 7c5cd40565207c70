// Checks what the structure of the product promises: packages import only packages of a lower rank, files have no import
// cycles, no file is over the limit of lines, package.json declares exactly the packages that the sources import. Prints every
// breach and exits 1 when there is one.
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

/** `import('...')` with a literal: the other form in which a source names a package. */
const dynamicImportPattern = /\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g
const { dependencies: rootRequired, optionalDependencies: rootOptional } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)
const rootDependencies = Object.keys({ ...rootRequired, ...rootOptional })

function packageOf(specifier) {
  const [first, second] = specifier.split('/')
  return first.startsWith('@') ? `${first}/${second}` : first
}

function packagesImportedBy(files) {
  const specifiers = files.flatMap((path) => [
    ...importsOf(path).map(({ specifier }) => specifier),
    ...Array.from(sources.get(path).matchAll(dynamicImportPattern), ([, specifier]) => specifier),
  ])
  return new Set(specifiers.filter((name) => !/^(?:\.|@\/|node:|svc:)/.test(name)).map(packageOf))
}

/** Bundled and shared third-party packages are declared once, by the root. */
function checkDependencies(name, files) {
  const { dependencies = {} } = JSON.parse(readFileSync(join(packagesDir, name, 'package.json'), 'utf8'))
  const declared = Object.keys(dependencies)
  const imported = packagesImportedBy(files)
  for (const one of declared) {
    if (!imported.has(one))
      breaches.push(`packages/${name}/package.json: declares ${one}, which no source of the package imports`)
  }
  for (const one of imported) {
    if (declared.includes(one) || rootDependencies.includes(one) || one === `@svc/${name}`) continue
    breaches.push(`packages/${name}/package.json: does not declare ${one}, which its sources import`)
  }
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
  checkDependencies(name, own)
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
