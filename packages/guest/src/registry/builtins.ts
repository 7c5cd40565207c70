import { restoreName } from '../prelude/restore-name.ts'

/** A built-in module as `require` gives it: an object whose keys are the exports; `default` only where the module has one. */
export type BuiltinExports = Readonly<Record<string, unknown>>

const loaders = new Map<string, () => BuiltinExports>()
const importerLoaders = new Map<string, (importer: string) => BuiltinExports>()
const loaded = new Map<string, BuiltinExports>()

/** Adds a module that the guest serves itself, under its specifier (`svc/navigation`). It is made on first use. */
export function registerBuiltin(specifier: string, load: () => BuiltinExports): void {
  loaders.set(specifier, load)
}

/** Adds a module of which each importer gets its own: `load` gets the id of the importer. */
export function registerImporterBuiltin(specifier: string, load: (importer: string) => BuiltinExports): void {
  importerLoaders.set(specifier, load)
  loaders.set(specifier, () => load(''))
}

/** Exports of such a module for one importer; undefined: all importers get the same. */
export function builtinFor(specifier: string, importer: string): BuiltinExports | undefined {
  return importerLoaders.get(specifier)?.(importer)
}

/** Returns a built-in module, or undefined when there is none of that name. */
export function builtinModule(specifier: string): BuiltinExports | undefined {
  const known = loaded.get(specifier)
  if (known !== undefined) return known
  const made = loaders.get(specifier)?.()
  if (made === undefined) return undefined
  for (const [name, value] of Object.entries(made)) if (name !== 'default') restoreName(value, name)
  // With a default export it is an ES module for those that `require` it.
  const exports = Object.hasOwn(made, 'default') ? Object.defineProperty({ ...made }, '__esModule', { value: true }) : made
  loaded.set(specifier, exports)
  return exports
}
