import type { ModuleFormat } from '../contract/isolate.ts'
import type { Namespace } from './interop.ts'

/** Specifier -> module id, `builtin:<name>`, or `!<message>` for one that could not be resolved. */
export type Dependencies = Readonly<Record<string, string>>

type ModuleState =
  | { readonly kind: 'defined' }
  | { readonly kind: 'running' }
  | { readonly kind: 'done' }
  /** Thrown again for the request that it failed for; the next request tries once more. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly attempt: number }

/** What `module` is inside a CommonJS factory. */
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
  /** What ESM sees; for CommonJS made when it is first imported. */
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
export function directoryOf(id: string): string {
  const end = id.lastIndexOf('/')
  return end <= 0 ? '/' : id.slice(0, end)
}
