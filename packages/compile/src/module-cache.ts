import { type CacheCounters, CacheFiles } from './cache-file.ts'
import type { CompiledSource } from './compile-source.ts'
import { COMPILER_VERSION, contentHash } from './content-hash.ts'

/** Size and times of a file, for telling whether it changed. */
export interface FileStamp {
  readonly size: number
  /** Modification and change time in nanoseconds, as decimal text. */
  readonly mtime: string
  readonly ctime: string
}

/** The last known state of a source path. */
export interface IndexEntry extends FileStamp {
  readonly path: string
  /** Name of its compiled source. */
  readonly hash: string
  /** Specifier -> module id. */
  readonly imports: Readonly<Record<string, string>>
}

/** An entry as text: two lines of JSON, what identifies it and its imports. */
function formatEntry({ path, hash, size, mtime, ctime, imports }: IndexEntry): string {
  return `${JSON.stringify({ path, hash, size, mtime, ctime })}\n${JSON.stringify(imports)}`
}

/** Reads the text of `formatEntry`. The imports are parsed on demand: an unchanged file is resolved without them. */
class StoredEntry implements IndexEntry {
  readonly path: string
  readonly hash: string
  readonly size: number
  readonly mtime: string
  readonly ctime: string
  readonly #imports: string

  constructor(text: string) {
    const headEnd = text.indexOf('\n')
    const head = JSON.parse(text.slice(0, headEnd)) as Omit<IndexEntry, 'imports'>
    this.path = head.path
    this.hash = head.hash
    this.size = head.size
    this.mtime = head.mtime
    this.ctime = head.ctime
    this.#imports = text.slice(headEnd + 1)
  }

  get imports(): Readonly<Record<string, string>> {
    return JSON.parse(this.#imports) as Record<string, string>
  }
}

interface Head extends Omit<CompiledSource, 'code' | 'maps'> {
  readonly hasMaps: boolean
}

/** A compiled source as text, without its source maps: a line of JSON with everything small, then the code. */
export function formatSource({ code, maps, ...rest }: CompiledSource): string {
  const head: Head = { ...rest, hasMaps: maps.length > 0 }
  return `// ${JSON.stringify(head)}\n${code}`
}

/**
 * Reads the text of `formatSource`. The source maps, most of a module's size, are read only for stack traces. A class,
 * because V8 keeps an object literal with a getter, and all that it refers to, until the next full collection.
 */
export class StoredSource implements CompiledSource {
  readonly format: CompiledSource['format']
  readonly imports: readonly string[]
  readonly lateImports: readonly string[]
  readonly watches: readonly string[]
  readonly watchHash: string
  readonly warnings: readonly string[]
  readonly code: string
  readonly #hasMaps: boolean
  readonly #readMaps: () => readonly string[]

  /** @param readMaps called only where there are some */
  constructor(text: string, readMaps: () => readonly string[]) {
    const codeStart = text.indexOf('\n') + 1
    const head = JSON.parse(text.slice(3, codeStart)) as Head
    this.format = head.format
    this.imports = head.imports
    this.lateImports = head.lateImports
    this.watches = head.watches
    this.watchHash = head.watchHash
    this.warnings = head.warnings
    this.code = text.slice(codeStart)
    this.#hasMaps = head.hasMaps
    this.#readMaps = readMaps
  }

  get maps(): readonly string[] {
    return this.#hasMaps ? this.#readMaps() : []
  }
}

/** The version of the compiler in few characters: it goes into the name of every entry of the index. */
const VERSION_MARK = contentHash(COMPILER_VERSION)

/** Directories of the caches of compiled modules: absolute paths without a slash at the end. */
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

  /** The text of the `SiteGraph` with this key. */
  graph(key: string): string | undefined {
    return this.#files.text(this.#graphFile(key))
  }

  storeGraph(key: string, text: string): void {
    this.#files.write(this.#graphFile(key), text)
  }

  /** V8's code cache of the module with this hash. */
  bytecode(hash: string): Uint8Array | undefined {
    return this.#files.bytes(`${this.#dirs.bytecode}/${hash}`)
  }

  storeBytecode(hash: string, data: Uint8Array): void {
    this.#files.write(`${this.#dirs.bytecode}/${hash}`, data)
  }

  /** Source maps that are gone or damaged come back when the module is compiled again: its code is deleted. */
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

  #graphFile(key: string): string {
    return `${this.#dirs.index}/${contentHash(`${VERSION_MARK}\n${key}`)}.graph`
  }

  #entryAt(file: string): IndexEntry | undefined {
    const text = this.#files.text(file)
    return text === undefined ? undefined : new StoredEntry(text)
  }

  #indexFile(path: string): string {
    return `${this.#dirs.index}/${contentHash(`${VERSION_MARK}\n${path}`)}.json`
  }
}
