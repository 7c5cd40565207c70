import type { IndexEntry, ModuleCache } from './module-cache.ts'

/** So many modules are looked at before other requests of the process come in between. */
const BATCH = 64

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
   * Looks through the modules that `roots` lead to for those that one of these files is part of. What the index does not know
   * counts as touched: whatever was made with it may have used any file.
   */
  async touched(roots: Iterable<string>, files: readonly string[]): Promise<Touched> {
    const uses = new Map<string, ModuleUse>()
    const unknown = new Set<string>()
    const waiting = [...roots]
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (uses.has(id) || unknown.has(id)) continue
      const entry = this.#cache.indexed(id)
      if (entry === undefined) unknown.add(id)
      else {
        const use = this.#useOf(entry)
        uses.set(id, use)
        waiting.push(...use.imports)
      }
      if ((uses.size + unknown.size) % BATCH === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    const known = new Set([...uses].flatMap(([id, { watches }]) => [id, ...watches]))
    return { modules: dependentsOf(uses, [...files, ...unknown]), known }
  }

  /** These files, and the entries that use them, directly or not. */
  dependentsIn(entries: readonly IndexEntry[], files: readonly string[]): Set<string> {
    return dependentsOf(new Map(entries.map((entry) => [entry.path, this.#useOf(entry)])), files)
  }

  #useOf({ path, hash, imports }: IndexEntry): ModuleUse {
    return {
      // Others are served by the guest, or could not be resolved.
      imports: Object.values(imports).filter((id) => id.startsWith('/')),
      watches: path.endsWith('.css') ? (this.#cache.compiled(hash)?.watches ?? []) : [],
    }
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
