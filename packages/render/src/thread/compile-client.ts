import { type CompiledModule, CompileError, type ModuleCache, ResolvedModule, StoredSource } from '@svc/compile/caches'
import { asError, codeOf, fromWire, type WireError } from '@svc/core'
import type { moduleReply } from '../contract/scan-methods.ts'
import { RenderError } from '../errors/errors.ts'

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
/** A purge of compiled modules may delete modules between their compilation and their use. */
const MAX_TRIES = 3

/**
 * The modules of a site, compiled by a process that may be ended: neither the parser nor the resolver, which open and read as they
 * like, ever meets the site's files in the process of the thread. Compiled sources come through the cache on disk.
 */
export class CompileClient {
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

  /** Yields each module, or why there is none: RENDER_COMPILE, RENDER_RESOLVE. One batch is compiled after the other. Never throws. */
  async *compile(ids: readonly string[]): AsyncGenerator<readonly [id: string, module: CompiledModule | Error]> {
    const waiting = [...ids]
    for (let tries = 1; waiting.length > 0; ) {
      const batch = waiting.splice(0, BATCH)
      const modules = await this.#compile(batch)
      const left = batch.filter((_, at) => modules[at] === undefined)
      tries = left.length < batch.length ? 1 : tries + 1
      for (const [at, id] of batch.entries()) {
        const module = modules[at]
        if (module !== undefined) yield [id, module]
        else if (tries > MAX_TRIES)
          yield [id, new CompileError('RENDER_COMPILE', `the compiled code of ${id} was deleted on every attempt`)]
      }
      if (tries <= MAX_TRIES) waiting.unshift(...left)
    }
  }

  /** Undefined for a module that has to be asked for again. */
  async #compile(ids: readonly string[]): Promise<(CompiledModule | Error | undefined)[]> {
    try {
      const { modules } = await this.#options.compile(`${this.#name}-${this.#looks}`, ids)
      return ids.map((id, at) => this.#moduleOf(id, modules[at] ?? {}))
    } catch (error) {
      return ids.map(() => own(asError(error)))
    }
  }

  #moduleOf(id: string, { hash, dependencies, uncached, lastGood, error }: Result): CompiledModule | Error | undefined {
    if (error !== undefined) return own(fromWire(error as WireError))
    if (hash === undefined || dependencies === undefined) return undefined
    const source =
      uncached === undefined ? this.#options.cache.compiled(hash) : new StoredSource(uncached.text, () => uncached.maps)
    if (source === undefined) return undefined
    if (lastGood !== undefined) this.#options.onLastGood(id, lastGood)
    return new ResolvedModule(id, hash, source, dependencies)
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
