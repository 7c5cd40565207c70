import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseSync } from 'oxc-parser'
import { dynamicImports, membersOf } from './used-names.mjs'

/** One source file: its text, and its imports and exports as the parser of ECMAScript modules sees them. */
class Source {
  constructor(path) {
    this.path = path
    this.text = readFileSync(path, 'utf8')
    this.lineCount = this.text.split('\n').length - 1
  }

  /** The module record of the parser. */
  get module() {
    this.record ??= parseSync(this.path, this.text).module
    return this.record
  }

  /** All modules that the source names: `{ specifier, isType, names }`; names undefined: all of them. */
  get imports() {
    this.importList ??= [...this.#staticImports(), ...this.#reexports(), ...dynamicImports(this.path, this.text)]
    return this.importList
  }

  #staticImports() {
    return this.module.staticImports.map(({ moduleRequest, entries }) => ({
      specifier: moduleRequest.value,
      isType: entries.length > 0 && entries.every((entry) => entry.isType),
      names: namesOf(entries, this.text),
    }))
  }

  #reexports() {
    return this.module.staticExports.flatMap(({ entries, start, end }) => {
      const from = entries.filter((entry) => entry.moduleRequest !== null)
      if (from.length === 0) return []
      const isWholeType = /^export\s+type\b/.test(this.text.slice(start, end))
      return [
        {
          specifier: from[0].moduleRequest.value,
          isType: isWholeType || from.every((entry) => entry.isType),
          names: namesOf(from, this.text),
          isReexport: true,
        },
      ]
    })
  }

  /** Names that the source exports itself, not from another module. */
  get ownExports() {
    return this.module.staticExports.flatMap(({ entries }) =>
      entries.filter((entry) => entry.moduleRequest === null).map((entry) => entry.exportName.name ?? 'default'),
    )
  }

  /** `{ name, from, importName }` for each name exported from another module; `name` undefined for `export *`. */
  get passedExports() {
    return this.module.staticExports.flatMap(({ entries }) =>
      entries
        .filter((entry) => entry.moduleRequest !== null)
        .map((entry) => ({
          name: entry.exportName.name ?? undefined,
          from: entry.moduleRequest.value,
          importName: entry.importName.name ?? undefined,
        })),
    )
  }
}

/** Names that an import takes; undefined where it takes the module as a whole. */
function namesOf(entries, text) {
  const names = entries.map(({ importName, localName }) => {
    if (importName.kind === 'Default') return ['default']
    if (importName.kind === 'NamespaceObject' && localName) return membersOf(localName.value, text)
    return importName.name === null ? undefined : [importName.name]
  })
  return names.includes(undefined) ? undefined : names.flat()
}

/** All sources below a folder by path, without fixtures and installed packages. */
export function collectSources(dir, into = new Map()) {
  for (const name of readdirSync(dir)) {
    const path = join(dir, name)
    if (name === 'node_modules' || name === 'fixtures' || name.startsWith('.')) continue
    if (statSync(path).isDirectory()) collectSources(path, into)
    else if (/\.(tsx?|mts|mjs|js)$/.test(name) && !name.endsWith('.d.ts')) into.set(path, new Source(path))
  }
  return into
}

/** Returns the file that a relative specifier names; undefined if it does not exist. */
export function relativeTarget(path, specifier) {
  if (!specifier.startsWith('.')) return
  const target = resolve(dirname(path), specifier)
  return existsSync(target) ? target : undefined
}
