import type { IndexEntry, ModuleCache } from './module-cache.ts'

/** After so many imports other tasks of the process come in between. */
const PAUSE_AFTER = 2_000
/** A site with more imports is not looked through: all of it counts as touched. */
const MAX_IMPORTS = 300_000

/** Files that a module depends on, beside its own. */
interface ModuleUse {
  /** Ids of the modules that it imports. */
  readonly imports: readonly string[]
  /** Style sheets that became part of it: they are no modules of their own. */
  readonly watches: readonly string[]
}

/** The part of some modules that a change touches. */
interface Touched {
  /** The changed files, and the modules that they are part of. */
  readonly modules: ReadonlySet<string>
  /** All files that the modules are made of, as far as the index knows. */
  readonly known: ReadonlySet<string>
}

/** Which module uses which, as the index on disk knows it: also of modules that no isolate of this process has. */
export class ImportGraph {
  readonly #cache: ModuleCache

  constructor(cache: ModuleCache) {
    this.#cache = cache
  }

  /**
   * Looks through the modules that `roots` lead to for those that one of these files is part of. A module that the index does not
   * know counts as touched: it may have used any file.
   */
  async touched(roots: readonly string[], files: readonly string[]): Promise<Touched> {
    const uses = new Map<string, ModuleUse>()
    const unknown = new Set<string>()
    const pacer = new Pacer()
    const waiting = [...roots]
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (uses.has(id) || unknown.has(id)) continue
      const entry = this.#cache.indexed(id)
      const use = entry === undefined ? undefined : this.#useOf(entry)
      if (use === undefined) unknown.add(id)
      else {
        uses.set(id, use)
        for (const target of use.imports) waiting.push(target)
      }
      await pacer.looked(use)
      if (pacer.imports <= MAX_IMPORTS) continue
      for (const root of roots) unknown.add(root)
      break
    }
    const known = new Set([...uses].flatMap(([id, { watches }]) => [id, ...watches]))
    return { modules: dependentsOf(uses, [...files, ...unknown]), known }
  }

  /** These files, and the entries that use them, directly or not. */
  async dependentsIn(entries: Iterable<IndexEntry>, files: readonly string[]): Promise<Set<string>> {
    const uses = new Map<string, ModuleUse>()
    const pacer = new Pacer()
    for (const entry of entries) {
      const use = this.#useOf(entry)
      uses.set(entry.path, use)
      await pacer.looked(use)
    }
    return dependentsOf(uses, files)
  }

  #useOf({ path, hash, imports }: IndexEntry): ModuleUse {
    return {
      // Others are served by the guest, or could not be resolved.
      imports: [...new Set(Object.values(imports))].filter((id) => id.startsWith('/')),
      watches: path.endsWith('.css') ? (this.#cache.compiled(hash)?.watches ?? []) : [],
    }
  }
}

/** Counts imports that were looked at, and pauses now and then: a site chooses how many there are. */
class Pacer {
  imports = 0
  #pauseAt = PAUSE_AFTER

  async looked(use: ModuleUse | undefined): Promise<void> {
    this.imports += 1 + (use?.imports.length ?? 0)
    if (this.imports < this.#pauseAt) return
    this.#pauseAt = this.imports + PAUSE_AFTER
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function dependentsOf(uses: ReadonlyMap<string, ModuleUse>, files: readonly string[]): Set<string> {
  const users = new Map<string, string[]>()
  for (const [id, { imports, watches }] of uses) {
    for (const target of [...imports, ...watches]) {
      const known = users.get(target)
      if (known === undefined) users.set(target, [id])
      else known.push(id)
    }
  }
  const found = new Set<string>()
  const waiting = [...files]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue
    found.add(file)
    waiting.push(...(users.get(file) ?? []))
  }
  return found
}
