import { type CompiledModule, CompileError, type ModuleCache, ResolvedModule, StoredSource } from '@svc/compile/caches'
import { codeOf, fromWire, toWire, type WireError } from '@svc/core'
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

  /**
   * Yields each module, or why there is none: RENDER_COMPILE, RENDER_RESOLVE. One batch is compiled after the other. Never throws.
   * @param wants asked about modules that these import and that are at hand: they are yielded too
   */
  async *compile(
    ids: readonly string[],
    wants: (id: string) => boolean = () => false,
  ): AsyncGenerator<readonly [id: string, module: CompiledModule | Error]> {
    const waiting = new Set(ids)
    for (let tries = 1; waiting.size > 0; ) {
      const batch = [...waiting].slice(0, BATCH)
      const { modules, more } = await this.#ask(batch)
      const found = batch.map((id, at) => [id, this.#moduleOf(id, modules[at] ?? {})] as const)
      const left = found.filter(([, module]) => module === undefined)
      tries = left.length < batch.length ? 1 : tries + 1
      for (const [id, module] of found) {
        if (module === undefined && tries <= MAX_TRIES) continue
        waiting.delete(id)
        yield [id, module ?? new CompileError('RENDER_COMPILE', `the compiled code of ${id} was deleted on every attempt`)]
      }
      for (const result of more) {
        const module = waiting.has(result.id) || wants(result.id) ? this.#moduleOf(result.id, result) : undefined
        if (module === undefined) continue
        waiting.delete(result.id)
        yield [result.id, module]
      }
    }
  }

  /** Never rejects. */
  async #ask(ids: readonly string[]): Promise<Reply> {
    try {
      return await this.#options.compile(`${this.#name}-${this.#looks}`, ids)
    } catch (error) {
      return { modules: ids.map(() => ({ error: toWire(error) })), more: [] }
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
