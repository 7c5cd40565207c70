import { emptyNamespace, exportAll, type Namespace } from './interop.ts'
import { directoryOf, type ModuleRecord } from './module-record.ts'

/** What a factory may ask of the registry, bound to the module that runs. */
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
