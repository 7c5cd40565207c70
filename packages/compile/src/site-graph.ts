import { statSync } from 'node:fs'
import { codeOf } from '@svc/core'
import type { ModuleCache } from './module-cache.ts'

/** A module whose imports were resolved. */
interface GraphModule {
  /** Name of its compiled source. */
  readonly hash: string
  /** Specifier -> module id. */
  readonly imports: Readonly<Record<string, string>>
}

/** The graph as it is stored. It holds as long as the state of each path is the noted one. */
interface StoredGraph {
  readonly states: readonly (readonly [path: string, state: string])[]
  readonly modules: Readonly<Record<string, GraphModule>>
}

/** A larger graph is not used: to check it would take longer than to resolve the imports that are needed. */
const MAX_PATHS = 20_000
const MAX_CHARS = 8 * 1024 * 1024
/** A file or directory that changed this recently may change again without a new time stamp. */
const RACY_MS = 50

/**
 * The modules of one site with their imports, and the state of all files and directories that these follow from. As long as none has
 * changed, nothing needs to be resolved again: neither by this process nor by one that starts later.
 */
export class SiteGraph {
  readonly #cache: ModuleCache
  readonly #key: string
  readonly #states = new Map<string, string>()
  readonly #modules = new Map<string, GraphModule>()
  #isRacy = false
  /** False once there were more paths than are noted. */
  #isComplete = true

  /** @param site names the site and how it is compiled */
  constructor(cache: ModuleCache, site: readonly string[]) {
    this.#cache = cache
    this.#key = site.join('\n')
  }

  /** Notes the state of a path. Must be called before anything follows from it. */
  readonly look = (path: string): void => {
    if (this.#states.has(path)) return
    if (this.#states.size >= MAX_PATHS) {
      this.#isComplete = false
      return
    }
    const { state, changedAt } = stateOf(path)
    this.#states.set(path, state)
    if (Date.now() - changedAt < RACY_MS) this.#isRacy = true
  }

  add(id: string, module: GraphModule): void {
    this.#modules.set(id, module)
  }

  /** A module that was added. Check `isCurrent` first. */
  get(id: string): GraphModule | undefined {
    return this.#isComplete ? this.#modules.get(id) : undefined
  }

  /** True if all paths are in the state in which they were. */
  get isCurrent(): boolean {
    return [...this.#states].every(([path, state]) => stateOf(path).state === state)
  }

  /** Adds the modules that are stored, if all of them are current. */
  load(): void {
    const text = this.#cache.graph(this.#key)
    if (text === undefined) return
    const { states, modules } = JSON.parse(text) as StoredGraph
    if (!states.every(([path, state]) => (this.#states.get(path) ?? stateOf(path).state) === state)) return
    for (const [path, state] of states) this.#states.set(path, state)
    for (const [id, module] of Object.entries(modules)) if (!this.#modules.has(id)) this.#modules.set(id, module)
  }

  /** Stores the modules, with those that others have stored, unless something has changed meanwhile. */
  store(): void {
    if (this.#isRacy || !this.#isComplete || !this.isCurrent) return
    this.load()
    if (this.#states.size > MAX_PATHS) return
    const stored: StoredGraph = { states: [...this.#states], modules: Object.fromEntries(this.#modules) }
    const text = JSON.stringify(stored)
    if (text.length <= MAX_CHARS) this.#cache.storeGraph(this.#key, text)
  }
}

/** A path that is absent, or cannot be reached, has a state too. Links are followed. */
function stateOf(path: string): { readonly state: string; readonly changedAt: number } {
  try {
    const info = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (info === undefined) return { state: '', changedAt: 0 }
    const { dev, ino, size, mtimeNs, ctimeNs } = info
    return { state: [dev, ino, size, mtimeNs, ctimeNs].join(' '), changedAt: Number(ctimeNs) / 1_000_000 }
  } catch (error) {
    return { state: String(codeOf(error)), changedAt: 0 }
  }
}
