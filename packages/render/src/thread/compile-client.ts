import {
  type CompiledModule,
  type CompiledSource,
  CompileError,
  type ModuleCache,
  ResolvedModule,
  StoredSource,
} from '@svc/compile/caches'
import { asError, codeOf, fromWire, type WireError } from '@svc/core'
import type { moduleReply } from '../contract/scan-methods.ts'
import { RenderError } from '../errors/errors.ts'
import type { Compiler } from './module-loader.ts'

type Reply = ReturnType<typeof moduleReply>
type Result = Reply['modules'][number]

/** How a compile client works. */
interface CompileClientOptions {
  readonly cache: ModuleCache
  /** Has modules compiled by another process, under a view of the site's files. */
  readonly compile: (view: string, ids: readonly string[]) => Promise<Reply>
  /** Told in production when a file does not compile and the version before it is served instead. */
  readonly onLastGood: (file: string, message: string) => void
}

/** A process that compiles may be ended by its deadline, which holds for so many modules. */
const BATCH = 32
/** A purge of compiled modules may delete a module between its compilation and its use. */
const MAX_TRIES = 3

/**
 * The modules of a site, compiled by a process that may be ended: neither the parser nor the resolver, which open and read as they
 * like, ever meets the site's files in the process of the thread. Compiled sources come through the cache on disk.
 */
export class CompileClient implements Compiler {
  readonly #options: CompileClientOptions
  readonly #name = crypto.randomUUID()
  #looks = 0

  constructor(options: CompileClientOptions) {
    this.#options = options
  }

  /** Resolves imports again from now on: files were added, removed or changed. */
  clear(): void {
    this.#looks++
  }

  async compile(ids: readonly string[]): Promise<(CompiledModule | Error)[]> {
    const batches = Array.from({ length: Math.ceil(ids.length / BATCH) }, (_, at) => ids.slice(at * BATCH, (at + 1) * BATCH))
    return (await Promise.all(batches.map((batch) => this.#compile(batch, 1)))).flat()
  }

  async #compile(ids: readonly string[], tries: number): Promise<(CompiledModule | Error)[]> {
    let results: readonly Result[]
    try {
      results = (await this.#options.compile(`${this.#name}-${this.#looks}`, ids)).modules
    } catch (error) {
      return ids.map(() => own(asError(error)))
    }
    return await Promise.all(ids.map((id, at) => this.#moduleOf(id, results[at], tries)))
  }

  async #moduleOf(id: string, result: Result | undefined, tries: number): Promise<CompiledModule | Error> {
    if (result?.error !== undefined) return own(fromWire(result.error as WireError))
    const { hash, dependencies, lastGood } = result ?? {}
    if (hash === undefined || dependencies === undefined) return new CompileError('RENDER_COMPILE', `${id} was not compiled`)
    const source = this.#sourceOf(hash, result?.uncached)
    if (source !== undefined) {
      if (lastGood !== undefined) this.#options.onLastGood(id, lastGood)
      return new ResolvedModule(id, hash, source, dependencies)
    }
    if (tries === MAX_TRIES) return new CompileError('RENDER_COMPILE', `the compiled code of ${id} was deleted on every attempt`)
    return (await this.#compile([id], tries + 1))[0] ?? new CompileError('RENDER_COMPILE', `${id} was not compiled`)
  }

  #sourceOf(hash: string, uncached: Result['uncached']): CompiledSource | undefined {
    if (uncached === undefined) return this.#options.cache.compiled(hash)
    return new StoredSource(uncached.text, () => uncached.maps)
  }
}

/** The errors of the compiler as this thread would raise them. One without a place has no data for the page of an error. */
function own(error: Error & { readonly data?: Readonly<Record<string, unknown>> | undefined }): Error {
  const code = codeOf(error)
  if (code === 'RENDER_DRAINING') return new RenderError(code, error.message, { cause: error })
  if (code !== 'RENDER_COMPILE' && code !== 'RENDER_RESOLVE') return error
  const { data } = error
  return new CompileError(code, error.message, { cause: error, ...(data?.['file'] === undefined ? {} : { data }) })
}
