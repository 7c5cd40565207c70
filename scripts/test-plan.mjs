// Groups test files into processes and orders their start.
//
// A test file spends half a second of processor time on loading sources, so some files of one package share a process, and some
// files of the product.
// A comment on a line of its own, in the head of a test file, says otherwise:
//
//   // Runs alone: <why it needs a process of its own>
//   // Starts first: <why it takes long>          it runs alone too
//   // Campaign: <what it repeats>                it runs alone, and in `npm run test:campaigns` instead of `npm test`
//
// Files that run alone keep the processor busy; groups wait for limits and timers more than they compute. So they alternate.
// Of each kind the long ones come first, so that none is left at the end of a run.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleTests } from './bundle-tests.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Bundles of the tests; rebuilt by each run. */
export const bundleDir = join(root, 'dist/tests')
/** Few enough that a group takes less than a minute. Files of the product start servers. */
const FILES_PER_GROUP = { packages: 8, product: 3 }
/** Tests of the product that run with engine node too: they depend on how connections are kept. */
const ENGINE_TESTS = ['test/drain.test.ts', 'test/request-loop.test.ts', 'test/slow-body.test.ts']

function filesBelow(dir, ending = '.test.ts') {
  const names = readdirSync(join(root, dir), { recursive: true })
  return names.filter((name) => name.endsWith(ending) && !name.includes('node_modules')).map((name) => join(dir, name))
}

function kindOf(file) {
  const [, kind] = /^\/\/ (Starts first|Runs alone|Campaign): \S/m.exec(readFileSync(join(root, file), 'utf8')) ?? []
  if (kind === 'Campaign') return 'campaign'
  if (kind === 'Starts first') return 'first'
  return kind === 'Runs alone' ? 'alone' : 'shared'
}

/** Writes a module that imports test files. @returns its path */
function writeEntry(name, lines) {
  const entry = join(bundleDir, 'entries', `${name}.mjs`)
  mkdirSync(dirname(entry), { recursive: true })
  writeFileSync(entry, `${lines.join('\n')}\n`)
  return entry
}

const specifierOf = (file) => JSON.stringify(join(root, file))

/** Spreads the files of a package, or of the product, over groups of about the same size. */
function groupsOf(name, files, filesPerGroup) {
  const count = Math.ceil(files.length / filesPerGroup)
  const groups = Array.from({ length: count }, (_, index) => files.filter((_file, at) => at % count === index))
  // Static imports: every file has registered its hooks before the first test runs.
  const linesOf = (group) => group.map((file) => `import ${specifierOf(file)}`)
  const nameOf = (index) => (count === 1 ? name : `${name}-${index + 1}`)
  return groups.map((group, index) => [nameOf(index), writeEntry(nameOf(index), linesOf(group))])
}

function withEngineNode(file) {
  const name = file.replace(/^test\/(.*)\.test\.ts$/, 'engine-node/$1')
  return [name, writeEntry(name, ["process.env['TEST_ENGINE'] = 'node'", `await import(${specifierOf(file)})`])]
}

/** Packages that have tests. */
function testedPackages() {
  return readdirSync(join(root, 'packages')).filter((name) => existsSync(join(root, 'packages', name, 'test')))
}

/** Merges two lists so that each is spread evenly over the whole. */
function alternating(one, other) {
  const placed = [one, other].flatMap((list) => list.map((item, index) => ({ item, place: (index + 0.5) / list.length })))
  return placed.sort((a, b) => a.place - b.place).map(({ item }) => item)
}

/** Entries by name, in the order in which they start: test files, and modules that import several. @param selection see `testPlan` */
function entriesOf(selection) {
  const isUnitOnly = selection === 'unit'
  const packages = testedPackages()
  const byPackage = packages.map((name) => ({ name, files: filesBelow(join('packages', name, 'test')).sort() }))
  const product = isUnitOnly ? [] : filesBelow('test').sort()
  const files = [...product, ...byPackage.flatMap((one) => one.files)].map((path) => ({ path, kind: kindOf(path) }))
  const ofKind = (wanted) =>
    files.filter(({ kind }) => kind === wanted).map(({ path }) => [path.replace(/\.ts$/, ''), join(root, path)])
  // The longest are those of the packages.
  if (selection === 'campaigns') return Object.fromEntries(ofKind('campaign').reverse())
  const isShared = (file) => kindOf(file) === 'shared'
  const shared = byPackage.flatMap(({ name, files }) => groupsOf(name, files.filter(isShared), FILES_PER_GROUP.packages))
  const servers = groupsOf('product', product.filter(isShared), FILES_PER_GROUP.product)
  const again = isUnitOnly ? [] : ENGINE_TESTS.map(withEngineNode)
  return Object.fromEntries(alternating([...ofKind('first'), ...servers, ...again, ...ofKind('alone')], shared))
}

/**
 * Bundles the tests.
 * @param selection `all` but the campaigns, `unit` for those of the packages, or `campaigns`
 * @returns paths to run, each in a process of its own, in the order in which they start
 */
export async function testPlan(selection) {
  rmSync(bundleDir, { recursive: true, force: true })
  const entries = entriesOf(selection)
  const dirs = ['test', ...testedPackages().map((name) => join('packages', name, 'test'))]
  const modules = dirs.flatMap((dir) => filesBelow(dir, '.ts')).map((name) => join(root, name))
  await bundleTests({ root, entries, modules, outDir: bundleDir })
  return Object.keys(entries).map((name) => join(bundleDir, `${name}.mjs`))
}
