import { join } from 'node:path'
import { relativeTarget } from './sources.mjs'

/** Where a name that a module exports is declared: `{ path, name }`, or undefined when it is not found. */
function declarationOf(project, path, name) {
  const source = project.sources.get(path)
  if (source === undefined) return
  if (source.ownExports.includes(name)) return { path, name }
  for (const passed of source.passedExports) {
    const target = project.resolve(path, passed.from)
    if (target === undefined) continue
    if (passed.name === name && passed.importName === undefined) return
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
 * Exports of the packages that no other source imports: `{ path, name }`. A pass through an index counts as no use, a use by a test
 * neither.
 * @param project `sources` by path, `resolve(path, specifier)` to a path or undefined
 * @param users paths of the sources whose imports count
 * @param published sources whose exports are for site authors or started by name
 */
export function unusedExports(project, users, published) {
  const used = new Set()
  const use = (path, name) => {
    const found = declarationOf(project, path, name)
    if (found !== undefined) used.add(`${found.path}\n${found.name}`)
  }
  for (const path of users) {
    for (const { specifier, names, isReexport } of project.sources.get(path).imports) {
      const target = isReexport ? undefined : project.resolve(path, specifier)
      if (target === undefined) continue
      for (const name of names ?? exportedNames(project, target)) use(target, name)
    }
  }
  const unused = []
  for (const path of users) {
    if (published(path)) continue
    for (const name of project.sources.get(path).ownExports) if (!used.has(`${path}\n${name}`)) unused.push({ path, name })
  }
  return unused
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
