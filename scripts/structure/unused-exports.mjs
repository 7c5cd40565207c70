import { join } from 'node:path'
import { relativeTarget } from './sources.mjs'

/**
 * Returns the declaration of a name that a module exports: `{ path, name }`, without a name for a module that is exported as a namespace;
 * undefined when it is not found.
 */
function declarationOf(project, path, name) {
  const source = project.sources.get(path)
  if (source === undefined) return
  if (source.ownExports.includes(name)) return { path, name }
  for (const passed of source.passedExports) {
    const target = project.resolve(path, passed.from)
    if (target === undefined) continue
    if (passed.name === name && passed.importName === undefined) return { path: target, name: undefined }
    if (passed.name === name) return declarationOf(project, target, passed.importName)
    if (passed.name !== undefined) continue
    const found = declarationOf(project, target, name)
    if (found !== undefined) return found
  }
}

/** Every name that a module exports, also through others. */
function exportedNames(project, path, seen = new Set()) {
  const source = project.sources.get(path)
  if (source === undefined || seen.has(path)) return []
  seen.add(path)
  return [
    ...source.ownExports,
    ...source.passedExports.flatMap((passed) => {
      if (passed.name !== undefined) return [passed.name]
      const target = project.resolve(path, passed.from)
      return target === undefined ? [] : exportedNames(project, target, seen)
    }),
  ]
}

/**
 * Exports of the packages that have no user: `{ path, name }`. A user is another source that imports the name, or the rest of its
 * own file when a test imports it, as the part of a file that is tested by itself. A pass through an index is no use.
 * @param project `sources` by path, `resolve(path, specifier)` to a path or undefined
 * @param users paths of the sources whose imports count
 * @param tests paths of the tests
 * @param published sources whose exports are for site authors or started by name
 */
export function unusedExports(project, { users, tests, published }) {
  const used = importedNames(project, users)
  const tested = importedNames(project, tests)
  const isUsed = (path, name) => {
    const key = `${path}\n${name}`
    return used.has(key) || (tested.has(key) && isUsedInFile(project.sources.get(path), name))
  }
  return users
    .filter((path) => !published(path))
    .flatMap((path) => project.sources.get(path).ownExports.map((name) => ({ path, name })))
    .filter(({ path, name }) => !isUsed(path, name))
}

/** True if the text of a source has the name more than once. */
function isUsedInFile(source, name) {
  return source.text.match(new RegExp(`\\b${name}\\b`, 'g')).length > 1
}

/** Declarations that sources import: `path`, a line break, `name`. */
function importedNames(project, importers) {
  const used = new Set()
  const use = (path, name) => {
    const found = declarationOf(project, path, name)
    if (found === undefined) return
    if (found.name !== undefined) used.add(`${found.path}\n${found.name}`)
    else for (const one of exportedNames(project, found.path)) use(found.path, one)
  }
  for (const path of importers) {
    for (const { specifier, names, isReexport } of project.sources.get(path).imports) {
      const target = isReexport ? undefined : project.resolve(path, specifier)
      if (target === undefined) continue
      for (const name of names ?? exportedNames(project, target)) use(target, name)
    }
  }
  return used
}

/** Resolves relative specifiers and those of the workspace's packages by their package.json. */
export function projectOf(sources, packagesDir, manifests) {
  return {
    sources,
    resolve(path, specifier) {
      const workspace = /^@svc\/([a-z-]+)(\/.+)?$/.exec(specifier)
      if (workspace === null) return relativeTarget(path, specifier)
      const [, name, subpath = ''] = workspace
      const entry = manifests.get(name)?.exports?.[`.${subpath}`]
      return typeof entry === 'string' ? join(packagesDir, name, entry) : undefined
    },
  }
}
