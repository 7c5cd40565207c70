import { realpathSync } from 'node:fs'
import type { SiteCompiler } from '@svc/compile'
import { formatSource, ModuleCache, type ResolvedModule, SiteGraph } from '@svc/compile/caches'
import { type ReplyOf, type RequestOf, toWire, type WireError } from '@svc/core'
import type { scanMethods } from '../contract/scan-methods.ts'

type CompileRequest = RequestOf<typeof scanMethods.compile>
type CompileReply = ReplyOf<typeof scanMethods.compile>
type ModuleResult = CompileReply['modules'][number]
type MoreModule = CompileReply['more'][number]

/** Views that a process keeps. A site has one for each of its threads. */
const MAX_VIEWS = 8
/** Of a reply, which goes through the main thread of the host: modules that do not fit are left out, and asked for again. */
const MAX_REPLY_CHARS = 8 * 1024 * 1024
/** Of a message; one about a place in a source is far shorter. */
const MAX_MESSAGE_CHARS = 16_384
/** For so long it is not looked again whether a site has changed: a thread that is told of a change begins another view. */
const CURRENT_MS = 1_000
/** A graph is stored when so much time has passed without a compilation. */
const STORE_MS = 200

/** Compiles modules of sites for their render threads. */
export class ModuleCompilers {
  /** In the order of their last use. */
  readonly #views = new Map<string, View>()

  /** Never rejects: each module has its own error. */
  async compile(request: CompileRequest): Promise<CompileReply> {
    const { ids } = request.modules
    try {
      return fitting(await this.#viewOf(request).compile(ids))
    } catch (error) {
      // The directory of the site is gone.
      return { modules: ids.map(() => ({ error: wireOf(error) })), more: [] }
    }
  }

  /** @throws ENOENT */
  #viewOf(request: CompileRequest): View {
    const { root, mode, cacheDirs, modules } = request
    const key = JSON.stringify([root, mode, cacheDirs, modules.view])
    const view = this.#views.get(key) ?? new View(request)
    this.#views.delete(key)
    this.#views.set(key, view)
    for (const oldest of this.#views.keys()) if (this.#views.size > MAX_VIEWS) this.#views.delete(oldest)
    return view
  }
}

/** A site as one thread sees it until its files change. */
class View {
  readonly #request: CompileRequest
  readonly #cache: ModuleCache
  /** By file, why its last good version is used instead. */
  readonly #lastGood = new Map<string, string>()
  #graph: SiteGraph
  #checkedAt = performance.now()
  #compiler: SiteCompiler | undefined
  #storing: NodeJS.Timeout | undefined

  /** @throws ENOENT */
  constructor(request: CompileRequest) {
    this.#request = request
    this.#cache = new ModuleCache(request.cacheDirs)
    this.#graph = this.#newGraph()
    this.#graph.load()
  }

  async compile(ids: readonly string[]): Promise<CompileReply> {
    this.#check()
    const known = ids.map((id) => this.#known(id))
    const isKnown = known.every((one) => one !== undefined)
    if (isKnown) return { modules: known, more: this.#importsOf(known, new Set(ids)) }
    this.#compiler ??= await this.#newCompiler()
    const compiler = this.#compiler
    const modules = await Promise.all(ids.map((id, at) => known[at] ?? this.#compileOne(compiler, id)))
    clearTimeout(this.#storing)
    this.#storing = setTimeout(() => this.#graph.store(), STORE_MS).unref()
    return { modules, more: [] }
  }

  /** Forgets what follows from files that have changed since. */
  #check(): void {
    const now = performance.now()
    if (now - this.#checkedAt < CURRENT_MS) return
    this.#checkedAt = now
    if (this.#graph.isCurrent) return
    this.#graph = this.#newGraph()
    this.#compiler = undefined
  }

  #newGraph(): SiteGraph {
    const { root, mode } = this.#request
    return new SiteGraph(this.#cache, [mode, realpathSync(root)])
  }

  /** Loaded here, with the resolver: a site whose modules are all known does without. */
  async #newCompiler(): Promise<SiteCompiler> {
    const { SiteCompiler, SiteResolver } = await import('@svc/compile')
    const { root, mode } = this.#request
    const onLastGood = (file: string, error: Error) => void this.#lastGood.set(file, error.message)
    return new SiteCompiler({ resolver: new SiteResolver(root, this.#graph.look), cache: this.#cache, mode, onLastGood })
  }

  #known(id: string): MoreModule | undefined {
    const found = this.#graph.get(id)
    if (found === undefined || !this.#cache.hasCompiled(found.hash)) return undefined
    return { id, hash: found.hash, dependencies: found.imports }
  }

  /** The modules that these import, directly or not, as far as they are known. */
  #importsOf(modules: readonly MoreModule[], seen: Set<string>): MoreModule[] {
    const more: MoreModule[] = []
    const waiting = [...modules]
    for (let module = waiting.pop(); module !== undefined; module = waiting.pop()) {
      for (const id of Object.values(module.dependencies)) {
        const known = seen.has(id) ? undefined : this.#known(id)
        seen.add(id)
        if (known === undefined) continue
        more.push(known)
        waiting.push(known)
      }
    }
    return more
  }

  async #compileOne(compiler: SiteCompiler, id: string): Promise<ModuleResult> {
    const graph = this.#graph
    try {
      graph.look(id)
      const module = await compiler.load(id)
      const { hash, dependencies } = module
      const why = this.#lastGood.get(id)
      this.#lastGood.delete(id)
      for (const file of module.watches) graph.look(file)
      if (why === undefined && compiler.isCurrent(module)) graph.add(id, { hash, imports: dependencies })
      return {
        hash,
        dependencies,
        ...(why === undefined ? {} : { lastGood: why.slice(0, MAX_MESSAGE_CHARS) }),
        ...(this.#cache.hasCompiled(hash) ? {} : { uncached: uncachedOf(module) }),
      }
    } catch (error) {
      return { error: wireOf(error) }
    }
  }
}

function uncachedOf({ source }: ResolvedModule): NonNullable<ModuleResult['uncached']> {
  return { text: formatSource(source), maps: [...source.maps] }
}

/** The stack is one of this process, and of no use to the author of the site. */
function wireOf(error: unknown): WireError {
  const { stack: _stack, ...wire } = toWire(error)
  return { ...wire, message: wire.message.slice(0, MAX_MESSAGE_CHARS) }
}

/** Leaves out what does not fit into a reply. The first result always does. */
function fitting({ modules, more }: CompileReply): CompileReply {
  let room = MAX_REPLY_CHARS
  const fits = (result: ModuleResult) => {
    const { dependencies = {}, uncached, error } = result
    const texts = [uncached?.text, ...(uncached?.maps ?? []), error?.message]
    room -= texts.reduce((sum, text) => sum + (text?.length ?? 0), charsOf(dependencies))
    return room >= 0
  }
  return { modules: modules.map((result, at) => (fits(result) || at === 0 ? result : {})), more: more.filter(fits) }
}

function charsOf(texts: Readonly<Record<string, string>>): number {
  let sum = 0
  for (const [key, value] of Object.entries(texts)) sum += key.length + value.length
  return sum
}
