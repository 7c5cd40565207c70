import type { CompiledModule } from '@svc/compile/caches'
import type { LoadedModule } from '@svc/protocol'

/** The modules that one isolate has, with the edges between them. */
export class ModuleGraph {
  readonly #modules = new Map<string, CompiledModule>()
  /** Module id or watched file -> ids of the modules that import or contain it. */
  readonly #importers = new Map<string, Set<string>>()

  get size(): number {
    return this.#modules.size
  }

  has(id: string): boolean {
    return this.#modules.has(id)
  }

  get(id: string): CompiledModule | undefined {
    return this.#modules.get(id)
  }

  ids(): string[] {
    return [...this.#modules.keys()]
  }

  /** All modules with their imports, in the order of their files. */
  list(): LoadedModule[] {
    const modules = [...this.#modules.values()].map((module) => {
      return { file: module.id, format: module.format, imports: [...new Set(modulesImported(module))] }
    })
    return modules.toSorted((a, b) => (a.file < b.file ? -1 : 1))
  }

  add(module: CompiledModule): void {
    this.#modules.set(module.id, module)
    for (const target of filesUsed(module)) {
      const importers = this.#importers.get(target)
      if (importers === undefined) this.#importers.set(target, new Set([module.id]))
      else importers.add(module.id)
    }
  }

  /** The given files, where they are known, and everything that imports them, directly or not. */
  dependentsOf(files: Iterable<string>): Set<string> {
    const found = new Set<string>()
    const waiting = [...files]
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (found.has(file)) continue
      if (this.#modules.has(file)) found.add(file)
      for (const importer of this.#importers.get(file) ?? []) if (!found.has(importer)) waiting.push(importer)
    }
    return found
  }

  /** Lists the modules that are missing here among these and everything they import. */
  missingFrom(ids: Iterable<string>): string[] {
    const seen = new Set<string>()
    const missing: string[] = []
    const waiting = [...ids]
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (seen.has(id)) continue
      seen.add(id)
      const module = this.#modules.get(id)
      if (module === undefined) missing.push(id)
      else waiting.push(...modulesImported(module))
    }
    return missing
  }

  /** Forgets modules. */
  remove(ids: Iterable<string>): void {
    for (const id of ids) {
      const module = this.#modules.get(id)
      if (module === undefined) continue
      this.#modules.delete(id)
      for (const target of filesUsed(module)) {
        const importers = this.#importers.get(target)
        importers?.delete(id)
        if (importers?.size === 0) this.#importers.delete(target)
      }
    }
  }
}

/** Ids of the modules that a module imports, without those that are no files. */
export function modulesImported(module: CompiledModule): string[] {
  return Object.values(module.dependencies).filter(isFileModule)
}

/** False for the ids of modules that come with the server, and of imports that are known to fail. */
export function isFileModule(id: string): boolean {
  return !id.startsWith('builtin:') && !id.startsWith('!')
}

function filesUsed(module: CompiledModule): string[] {
  return [...modulesImported(module), ...module.watches]
}
