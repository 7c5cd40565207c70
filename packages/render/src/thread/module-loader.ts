import { type CompiledModule, hasBytecode, type ModuleCache, scriptOf } from '@svc/compile/caches'
import { SingleFlight } from '@svc/core'
import { RenderError } from '../errors/errors.ts'
import type { CompileClient } from './compile-client.ts'
import type { GuestIsolate, IsolateModule } from './guest-isolate.ts'
import { ModuleGraph, modulesImported } from './module-graph.ts'

/** Options of a `ModuleLoader`. */
interface ModuleLoaderOptions {
  readonly compiler: Pick<CompileClient, 'compile'>
  readonly cache: ModuleCache
  readonly isolate: GuestIsolate
  readonly memoryLimitMb: number
  readonly onWarning: (text: string) => void
  /** Called when modules are evicted: routes that use them have to be defined again. */
  readonly onEvict: () => void
}

/** Brings the modules of a site into one isolate, each once, and takes out what has changed. */
export class ModuleLoader {
  readonly graph = new ModuleGraph()
  readonly #options: ModuleLoaderOptions
  readonly #loading = new SingleFlight<string, void>()
  readonly #loads = new Set<Promise<void>>()
  #evictions = 0

  constructor(options: ModuleLoaderOptions) {
    this.#options = options
  }

  /** Counts up with each eviction. */
  get evictions(): number {
    return this.#evictions
  }

  /**
   * Makes sure that these modules and all they import are defined.
   * @throws RENDER_COMPILE, RENDER_RESOLVE, RENDER_MEMORY; nothing was defined then
   */
  async load(ids: readonly string[]): Promise<void> {
    // Again when something that was there has been evicted meanwhile.
    for (let missing = this.graph.missingFrom(ids); missing.length > 0; missing = this.graph.missingFrom(ids)) {
      const wanted = missing
      const load = this.#loading.run(wanted.join('\n'), () => this.#loadGraph(wanted))
      this.#loads.add(load)
      await load.finally(() => this.#loads.delete(load))
    }
  }

  /**
   * Looks at changed files and evicts what differs, with everything that imports it. An empty list, or a file that no
   * module is known for, means to look at all modules: a new file can change where an import leads.
   * @returns the ids of the evicted modules
   */
  async update(files: readonly string[]): Promise<ReadonlySet<string>> {
    await this.#settled()
    const isKnown = (file: string) => this.graph.dependentsOf([file]).size > 0
    const suspects = files.length > 0 && files.every(isKnown) ? files.filter((file) => this.graph.has(file)) : this.graph.ids()
    const changed = files.filter((file) => !this.graph.has(file) && isKnown(file))
    for await (const [id, current] of this.#options.compiler.compile(suspects)) {
      if (this.#hasChanged(id, current)) changed.push(id)
    }
    return await this.#evict(this.graph.dependentsOf(changed))
  }

  /**
   * Evicts modules, with everything that imports them.
   * @returns the ids of the evicted modules
   */
  async evict(isMeant: (id: string) => boolean): Promise<ReadonlySet<string>> {
    await this.#settled()
    return await this.#evict(this.graph.dependentsOf(this.graph.ids().filter(isMeant)))
  }

  /** Waits for running loads: one that ends later would define the old version. */
  async #settled(): Promise<void> {
    await Promise.allSettled([...this.#loads])
  }

  async #evict(evicted: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    if (evicted.size === 0) return evicted
    this.graph.remove(evicted)
    this.#evictions++
    this.#options.onEvict()
    await this.#options.isolate.enter('evict', JSON.stringify([...evicted]))
    return evicted
  }

  #hasChanged(id: string, current: CompiledModule | Error): boolean {
    const known = this.graph.get(id)
    // It is gone or does not compile: the next request that needs it is told so.
    if (known === undefined || current instanceof Error) return true
    return known.code !== current.code || JSON.stringify(known.dependencies) !== JSON.stringify(current.dependencies)
  }

  async #loadGraph(ids: readonly string[]): Promise<void> {
    const { compiler, memoryLimitMb } = this.#options
    const found = new Map<string, CompiledModule>()
    let room = memoryLimitMb * 1024 * 1024
    for (let wave = [...new Set(ids)]; wave.length > 0; ) {
      const targets = new Set<string>()
      for await (const [id, module] of compiler.compile(wave, (one) => !found.has(one) && !this.graph.has(one))) {
        if (module instanceof Error) throw module
        room -= charsOf(module)
        // They would not fit into the isolate, and until they are there they are in the memory that all sites share.
        if (room < 0)
          throw new RenderError('RENDER_MEMORY', `${id}, with what is loaded beside it, has more than ${memoryLimitMb} MB`)
        found.set(id, module)
        for (const target of modulesImported(module)) targets.add(target)
      }
      wave = [...targets].filter((id) => !found.has(id) && !this.graph.has(id))
    }
    await this.#define([...found.values()])
  }

  async #define(modules: readonly CompiledModule[]): Promise<void> {
    const fresh = modules.filter((module) => !this.graph.has(module.id))
    const { isolate, cache } = this.#options
    const produced = await isolate.define(fresh.map((module) => this.#isolateModule(module)))
    for (const module of fresh) {
      this.graph.add(module)
      for (const warning of module.warnings) this.#options.onWarning(warning)
    }
    for (const { name, data } of produced) cache.storeBytecode(name, data)
  }

  #isolateModule(module: CompiledModule): IsolateModule {
    const code = scriptOf(module)
    const { id, format, hash } = module
    const bytecodeName = hasBytecode(format, code) ? hash : undefined
    const bytecode = bytecodeName === undefined ? undefined : this.#options.cache.bytecode(bytecodeName)
    return { id, format, dependencies: JSON.stringify(module.dependencies), code, bytecodeName, bytecode }
  }
}

function charsOf({ code, dependencies }: CompiledModule): number {
  let sum = code.length
  for (const [specifier, id] of Object.entries(dependencies)) sum += specifier.length + id.length
  return sum
}
