// Checks the structure that docs/architecture.md describes: packages import what the table allows, files and folders have no
// import cycles, no file is over the limit of lines, package.json declares exactly the packages that the sources import, every
// export has a user. Prints every breach; exits with 1 if there are any.
//
//   node scripts/check-structure.mjs            check
//   node scripts/check-structure.mjs --report   check, and print the size of each package
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cyclesOf } from './structure/cycles.mjs'
import { importTable } from './structure/import-table.mjs'
import { collectSources, relativeTarget } from './structure/sources.mjs'
import { projectOf, unusedExports } from './structure/unused-exports.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packagesDir = join(root, 'packages')
const MAX_LINES = 400

const breaches = []
const shown = (path) => relative(root, path)
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))
const rootManifest = readJson(join(root, 'package.json'))
const rootDependencies = Object.keys({ ...rootManifest.dependencies, ...rootManifest.optionalDependencies })

function packageOf(specifier) {
  const [first, second] = specifier.split('/')
  return first.startsWith('@') ? `${first}/${second}` : first
}

/** Third-party packages that several packages share, or that pages import, are declared by the root. */
function checkDependencies(name, manifest, sources) {
  const declared = Object.keys(manifest.dependencies ?? {})
  const specifiers = sources.flatMap((source) => source.imports.map((one) => one.specifier))
  const imported = new Set(specifiers.filter((one) => !/^(?:\.|@\/|node:|svc:)/.test(one)).map(packageOf))
  for (const one of declared) {
    if (!imported.has(one))
      breaches.push(`packages/${name}/package.json: declares ${one}, which no source of the package imports`)
  }
  for (const one of imported) {
    if (declared.includes(one) || rootDependencies.includes(one) || one === `@svc/${name}`) continue
    breaches.push(`packages/${name}/package.json: does not declare ${one}, which its sources import`)
  }
}

function checkImportTable(name, sources) {
  const allowed = importTable[name]
  if (allowed === undefined) {
    breaches.push(`packages/${name}: not in the import table (scripts/structure/import-table.mjs)`)
    return
  }
  for (const { path, imports } of sources) {
    for (const { specifier, isType, isDynamic } of imports) {
      const target = /^@svc\/([a-z-]+)/.exec(specifier)?.[1]
      if (target === undefined || target === name || allowed.code.includes(target)) continue
      if (allowed.late?.includes(target)) {
        if (!isDynamic && !isType) breaches.push(`${shown(path)}: ${name} may import ${target} only with import()`)
      } else if (!allowed.types?.includes(target)) breaches.push(`${shown(path)}: ${name} may not import ${target}`)
      else if (!isType) breaches.push(`${shown(path)}: ${name} may import only types of ${target}`)
    }
  }
}

/** Graphs of the imports among the files and among the folders of a package. */
function importGraphs(sources) {
  const files = new Map()
  const folders = new Map()
  for (const { path, imports } of sources) {
    files.set(path, new Set())
    const folder = dirname(path)
    if (!folders.has(folder)) folders.set(folder, new Set())
    for (const { specifier } of imports) {
      const target = relativeTarget(path, specifier)
      if (target === undefined) {
        if (specifier.startsWith('.')) breaches.push(`${shown(path)}: ${specifier} does not exist`)
        continue
      }
      files.get(path).add(target)
      if (dirname(target) !== folder) folders.get(folder).add(dirname(target))
    }
  }
  return { files, folders }
}

/** @returns the number of folders that import each other in a circle */
function checkCycles(sources) {
  const { files, folders } = importGraphs(sources)
  for (const cycle of cyclesOf(files)) breaches.push(`import cycle of files: ${cycle.map(shown).join(', ')}`)
  const cycles = cyclesOf(folders)
  for (const cycle of cycles) breaches.push(`import cycle of folders: ${cycle.map(shown).join(', ')}`)
  return cycles.flat().length
}

function checkLength({ path, lineCount }) {
  if (lineCount > MAX_LINES) breaches.push(`${shown(path)}: ${lineCount} lines, over ${MAX_LINES}`)
}

function printReport(rows) {
  console.table(rows)
  const sum = (key) => Object.values(rows).reduce((total, row) => total + row[key], 0)
  console.log(
    `${Object.keys(rows).length} packages, ${sum('files')} files, ${sum('lines')} lines, ${sum('foldersInCycles')} folders in cycles, ${sum('unusedExports')} exports without a user`,
  )
}

function main() {
  const manifests = new Map()
  const byPackage = new Map()
  const all = new Map()
  for (const name of readdirSync(packagesDir)) {
    const srcDir = join(packagesDir, name, 'src')
    if (!existsSync(srcDir)) continue
    const sources = collectSources(srcDir)
    manifests.set(name, readJson(join(packagesDir, name, 'package.json')))
    byPackage.set(name, [...sources.values()])
    for (const [path, source] of sources) all.set(path, source)
  }
  const users = [...byPackage].flatMap(([name, sources]) => (name === 'testkit' ? [] : sources.map(({ path }) => path)))
  for (const dir of ['scripts', 'bench', 'test']) collectSources(join(root, dir), all)
  for (const dir of readdirSync(packagesDir).map((name) => join(packagesDir, name, 'test')))
    if (existsSync(dir)) collectSources(dir, all)
  const others = [...all.keys()].filter((path) => /^(?:scripts|bench)\//.test(shown(path)))
  const project = projectOf(all, packagesDir, manifests)
  const isStarted = (path) => /\/(?:main|thread-main)\.ts$/.test(path)
  const unused = unusedExports(project, {
    users: [...users, ...others],
    tests: [...all.keys()].filter((path) => !users.includes(path) && !others.includes(path)),
    published: (path) => others.includes(path) || isStarted(path),
  })

  const rows = {}
  for (const [name, sources] of byPackage) {
    if (name !== 'testkit') checkImportTable(name, sources)
    checkDependencies(name, manifests.get(name), sources)
    const ownUnused = unused.filter(({ path }) => path.startsWith(join(packagesDir, name, 'src/')))
    for (const one of ownUnused) breaches.push(`${shown(one.path)}: export ${one.name} has no user`)
    const lines = sources.reduce((total, source) => total + source.lineCount, 0)
    const foldersInCycles = checkCycles(sources)
    rows[name] = { files: sources.length, lines, foldersInCycles, unusedExports: ownUnused.length }
  }
  for (const source of all.values()) checkLength(source)
  if (process.argv.includes('--report')) printReport(rows)
  for (const breach of breaches) console.error(breach)
  if (breaches.length > 0) process.exitCode = 1
  else console.log(`structure: ${all.size} files in order`)
}

main()
