import { type CacheCounters, CacheFiles } from './cache-file.ts'
import type { CompiledSource } from './compile-source.ts'
import { COMPILER_VERSION } from './compiler-version.ts'
import { contentHash } from './content-hash.ts'
import { formatEntry, type IndexEntry, StoredEntry } from './index-entry.ts'
import { formatSource, StoredSource } from './stored-source.ts'

/** The version of the compiler in few characters: it goes into the name of every entry of the index. */
const VERSION_MARK = contentHash(COMPILER_VERSION)

/** Where the caches of compiled modules lie: absolute paths without a slash at the end. */
export interface ModuleCacheDirs {
  /** `<.svc>/cache/modules`: compiled source by content. */
  readonly modules: string
  /** `<cache.dir>/compile`: what each path was compiled to. */
  readonly index: string
  /** `<cache.dir>/bytecode`: V8's code cache. */
  readonly bytecode: string
}

/**
 * The caches of compiled modules on disk. Shared by all threads and processes without locks: files are named by content
 * or replaced whole. All methods are synchronous and never throw.
 */
export class ModuleCache {
  readonly #dirs: ModuleCacheDirs
  readonly #files = new CacheFiles()

  constructor(dirs: ModuleCacheDirs) {
    this.#dirs = dirs
  }

  get counters(): Readonly<CacheCounters> {
    return this.#files.counters
  }

  compiled(hash: string): CompiledSource | undefined {
    const text = this.#files.text(this.#codeFile(hash))
    return text === undefined ? undefined : new StoredSource(text, () => this.#maps(hash))
  }

  /** True if the compiled source is on disk, as far as that shows without reading it. */
  hasCompiled(hash: string): boolean {
    return this.#files.has(this.#codeFile(hash))
  }

  storeCompiled(hash: string, compiled: CompiledSource): void {
    // First: where the code is, its maps are.
    if (compiled.maps.length > 0) this.#files.write(this.#mapsFile(hash), JSON.stringify(compiled.maps))
    this.#files.write(this.#codeFile(hash), formatSource(compiled))
  }

  indexed(path: string): IndexEntry | undefined {
    const entry = this.#entryAt(this.#indexFile(path))
    return entry?.path === path ? entry : undefined
  }

  /** The entry in a file of the index; undefined when it is damaged or of another version of the compiler. */
  entryIn(fileName: string): IndexEntry | undefined {
    const file = `${this.#dirs.index}/${fileName}`
    const entry = this.#entryAt(file)
    return entry !== undefined && this.#indexFile(entry.path) === file ? entry : undefined
  }

  storeIndexed(entry: IndexEntry): void {
    this.#files.write(this.#indexFile(entry.path), formatEntry(entry))
  }

  /** V8's code cache of the module with this hash. */
  bytecode(hash: string): Uint8Array | undefined {
    return this.#files.bytes(`${this.#dirs.bytecode}/${hash}`)
  }

  storeBytecode(hash: string, data: Uint8Array): void {
    this.#files.write(`${this.#dirs.bytecode}/${hash}`, data)
  }

  /** Source maps that are gone or damaged come back when the module is compiled anew: its code is forgotten. */
  #maps(hash: string): readonly string[] {
    const text = this.#files.text(this.#mapsFile(hash))
    if (text !== undefined) return JSON.parse(text) as string[]
    this.#files.remove(this.#codeFile(hash))
    return []
  }

  #codeFile(hash: string): string {
    return `${this.#dirs.modules}/${hash}.js`
  }

  #mapsFile(hash: string): string {
    return `${this.#dirs.modules}/${hash}.map`
  }

  #entryAt(file: string): IndexEntry | undefined {
    const text = this.#files.text(file)
    return text === undefined ? undefined : new StoredEntry(text)
  }

  #indexFile(path: string): string {
    return `${this.#dirs.index}/${contentHash(`${VERSION_MARK}\n${path}`)}.json`
  }
}
