import type { CompiledSource } from './compile-source.ts'
import type { ModuleFormat } from './module-kind.ts'

/** A module that is ready to be defined in an isolate. */
export interface CompiledModule {
  /** Absolute real path of its source, or `EMPTY_MODULE`. */
  readonly id: string
  readonly format: ModuleFormat
  readonly code: string
  /** Specifier -> module id, `builtin:<name>`, or `!<message>` for one that fails when it is reached. */
  readonly dependencies: Readonly<Record<string, string>>
  /** Source map mappings, outermost first. */
  readonly maps: readonly string[]
  /** Hash of source, mode and compiler. */
  readonly hash: string
  /** Further files whose text is part of it. */
  readonly watches: readonly string[]
  readonly warnings: readonly string[]
}

/** A compiled source under the path that it belongs to, with its imports resolved. */
export class ResolvedModule implements CompiledModule {
  readonly id: string
  readonly hash: string
  readonly format: ModuleFormat
  readonly code: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly watches: readonly string[]
  readonly warnings: readonly string[]
  readonly #source: CompiledSource

  constructor(id: string, hash: string, source: CompiledSource, dependencies: Readonly<Record<string, string>>) {
    this.id = id
    this.hash = hash
    this.format = source.format
    this.code = source.code
    this.dependencies = dependencies
    this.watches = source.watches
    this.warnings = source.warnings
    this.#source = source
  }

  /** The source text that it was compiled from. */
  get source(): CompiledSource {
    return this.#source
  }

  /** Taken from the source at each call: it is needed only when something throws. */
  get maps(): readonly string[] {
    return this.#source.maps
  }
}
