import type { CompiledSource } from './compile-source.ts'
import type { ModuleFormat } from './module-kind.ts'

/** A compiled source under the path that it belongs to, with its imports resolved: ready to be defined in an isolate. */
export class ResolvedModule {
  /** Absolute real path of its source, or `EMPTY_MODULE`. */
  readonly id: string
  /** Hash of source, mode and compiler. */
  readonly hash: string
  readonly source: CompiledSource
  /** Specifier -> module id, `builtin:<name>`, or `!<message>` for one that fails when it is reached. */
  readonly dependencies: Readonly<Record<string, string>>

  constructor(id: string, hash: string, source: CompiledSource, dependencies: Readonly<Record<string, string>>) {
    this.id = id
    this.hash = hash
    this.source = source
    this.dependencies = dependencies
  }

  get format(): ModuleFormat {
    return this.source.format
  }

  get code(): string {
    return this.source.code
  }

  /** Source map mappings, outermost first. Read from disk at each call: they are needed only when something throws. */
  get maps(): readonly string[] {
    return this.source.maps
  }

  /** Further files whose text is part of it. */
  get watches(): readonly string[] {
    return this.source.watches
  }

  get warnings(): readonly string[] {
    return this.source.warnings
  }
}

/** The facts about a module that render threads use. */
export type CompiledModule = Omit<ResolvedModule, 'source'>
