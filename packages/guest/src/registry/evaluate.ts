import type { ModuleFormat } from '../contract/isolate.ts'
import { emptyNamespace, exportAll, type Namespace } from './interop.ts'

/** Specifier -> module id, `builtin:<name>`, or `!<message>` for one that could not be resolved. */
export type Dependencies = Readonly<Record<string, string>>

type ModuleState =
  | { readonly kind: 'defined' }
  | { readonly kind: 'running' }
  | { readonly kind: 'done' }
  /** Thrown again for the request that it failed for; the next request tries once more. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly attempt: number }

/** The `module` of a CommonJS factory. */
interface CommonJsModule {
  exports: unknown
  readonly id: string
  readonly filename: string
  loaded: boolean
}

/** A built-in module that was made for one importer. */
export interface OwnBuiltin {
  readonly exports: Readonly<Record<string, unknown>>
  readonly namespace: Namespace
}

/** One module of the site. Namespace and `module` object stay the same over attempts: importers in a cycle hold them. */
export interface ModuleRecord {
  readonly id: string
  readonly format: ModuleFormat
  readonly dependencies: Dependencies
  /** Factory function, or text for JSON and CSS. */
  readonly source: unknown
  state: ModuleState
  /** The namespace for ESM; for CommonJS made on first import. */
  namespace: Namespace | undefined
  readonly module: CommonJsModule
  /** By id: those that are made for each importer. */
  readonly ownBuiltins: Map<string, OwnBuiltin>
  /** Counts up over the isolate's life: the order in which modules began to run. */
  order: number
}

/** Makes a record of a module that has not run. */
export function moduleRecord(id: string, format: ModuleFormat, dependencies: Dependencies, source: unknown): ModuleRecord {
  return {
    id,
    format,
    dependencies,
    source,
    state: { kind: 'defined' },
    namespace: undefined,
    module: { exports: {}, id, filename: id, loaded: false },
    ownBuiltins: new Map(),
    order: Number.POSITIVE_INFINITY,
  }
}

/** Returns the directory of a module's path. */
function directoryOf(id: string): string {
  const end = id.lastIndexOf('/')
  return end <= 0 ? '/' : id.slice(0, end)
}

/** Functions of the registry for a factory, bound to the module that runs. */
export interface ModuleLinks {
  import(specifier: string): Namespace
  require(specifier: string): unknown
}

type EsmFactory = (
  importModule: (specifier: string) => Namespace,
  exports: Namespace,
  exportAll: (source: unknown) => void,
  dynamicImport: (specifier: string) => Promise<Namespace>,
  importMeta: object,
) => void
type CommonJsFactory = (exports: unknown, require: unknown, module: object, filename: string, dirname: string) => void

function importMeta(id: string): object {
  const url = `file://${encodeURI(id).replace(/[?#]/g, encodeURIComponent)}`
  return Object.assign(Object.create(null), { url, filename: id, dirname: directoryOf(id) })
}

function runEsm(record: ModuleRecord, links: ModuleLinks): void {
  const namespace = record.namespace ?? emptyNamespace()
  record.namespace = namespace
  for (const key of Object.keys(namespace)) delete namespace[key]
  const factory = record.source as EsmFactory
  Reflect.apply(factory, undefined, [
    links.import,
    namespace,
    (source: unknown) => exportAll(namespace, source),
    // An error at import rejects; it never throws out of `import()`.
    (specifier: unknown) => new Promise<Namespace>((resolve) => resolve(links.import(String(specifier)))),
    importMeta(record.id),
  ])
}

function runCommonJs(record: ModuleRecord, links: ModuleLinks): void {
  const { module } = record
  const factory = record.source as CommonJsFactory
  Reflect.apply(factory, module.exports, [module.exports, links.require, module, record.id, directoryOf(record.id)])
  module.loaded = true
}

/** Names that may stand in `import { name }`. */
function namespaceOfData(value: unknown): Namespace {
  const namespace = emptyNamespace()
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) Object.assign(namespace, value)
  namespace.default = value
  return namespace
}

/** The parsed text of a CSS module. */
export interface CssModule {
  readonly css: string
  readonly classes: Readonly<Record<string, string>>
}

/** Runs a module's factory, or parses its text. Sets namespace and exports; throws what the module throws. */
export function evaluate(record: ModuleRecord, links: ModuleLinks): void {
  switch (record.format) {
    case 'esm':
      runEsm(record, links)
      return
    case 'cjs':
      runCommonJs(record, links)
      return
    case 'json':
      record.module.exports = JSON.parse(String(record.source))
      record.namespace = namespaceOfData(record.module.exports)
      return
    case 'css':
      record.module.exports = (JSON.parse(String(record.source)) as CssModule).classes
      record.namespace = namespaceOfData(record.module.exports)
  }
}
