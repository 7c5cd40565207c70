import { type CacheCounters, newCacheCounters, readCacheFile, readCacheText, writeCacheFile } from './cache-file.ts'
import type { CompiledSource } from './compile-source.ts'
import { COMPILER_VERSION } from './compiler-version.ts'
import { contentHash } from './content-hash.ts'

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

/** What was last known of a source path. */
export interface IndexEntry {
  readonly path: string
  /** Name of its compiled source. */
  readonly hash: string
  readonly size: number
  /** Modification and change time in nanoseconds, as decimal text. */
  readonly mtime: string
  readonly ctime: string
  /** Specifier -> module id. */
  readonly imports: Readonly<Record<string, string>>
}

/** Size and times of a file, for telling whether it changed. */
export type FileStamp = Pick<IndexEntry, 'size' | 'mtime' | 'ctime'>

/**
 * The caches of compiled modules on disk. Shared by all threads and processes without locks: files are named by content
 * or replaced whole. All methods are synchronous and never throw.
 */
export class ModuleCache {
  readonly counters: CacheCounters = newCacheCounters()
  readonly #dirs: ModuleCacheDirs

  constructor(dirs: ModuleCacheDirs) {
    this.#dirs = dirs
  }

  compiled(hash: string): CompiledSource | undefined {
    const body = readCacheFile(`${this.#dirs.modules}/${hash}.js`, this.counters)
    return body === undefined ? undefined : parseCompiled(body)
  }

  storeCompiled(hash: string, compiled: CompiledSource): void {
    writeCacheFile(`${this.#dirs.modules}/${hash}.js`, formatCompiled(compiled), this.counters)
  }

  indexed(path: string): IndexEntry | undefined {
    const body = readCacheText(this.#indexFile(path), this.counters)
    const entry = body === undefined ? undefined : (JSON.parse(body) as IndexEntry)
    return entry?.path === path ? entry : undefined
  }

  /** The entry in a file of the index; undefined when it is damaged or of another version of the compiler. */
  entryIn(fileName: string): IndexEntry | undefined {
    const file = `${this.#dirs.index}/${fileName}`
    const body = readCacheText(file, this.counters)
    const entry = body === undefined ? undefined : (JSON.parse(body) as IndexEntry)
    return entry !== undefined && this.#indexFile(entry.path) === file ? entry : undefined
  }

  storeIndexed(entry: IndexEntry): void {
    writeCacheFile(this.#indexFile(entry.path), JSON.stringify(entry), this.counters)
  }

  /** V8's code cache of the module with this hash. */
  bytecode(hash: string): Buffer | undefined {
    return readCacheFile(`${this.#dirs.bytecode}/${hash}`, this.counters)
  }

  storeBytecode(hash: string, data: Uint8Array): void {
    writeCacheFile(`${this.#dirs.bytecode}/${hash}`, data, this.counters)
  }

  #indexFile(path: string): string {
    return `${this.#dirs.index}/${contentHash(`${VERSION_MARK}\n${path}`)}.json`
  }
}

// A line of JSON with everything small, then the code, then the source maps, which are read only when something throws.
function formatCompiled({ code, maps, ...rest }: CompiledSource): Buffer {
  const codeBytes = Buffer.byteLength(code)
  return Buffer.from(`// ${JSON.stringify({ ...rest, codeBytes })}\n${code}\n// ${JSON.stringify(maps)}`)
}

function parseCompiled(body: Buffer): CompiledSource {
  const headEnd = body.indexOf(10)
  const { codeBytes, ...rest } = JSON.parse(body.toString('utf8', 3, headEnd)) as Omit<CompiledSource, 'code' | 'maps'> & {
    codeBytes: number
  }
  const codeEnd = headEnd + 1 + codeBytes
  return {
    ...rest,
    code: body.toString('utf8', headEnd + 1, codeEnd),
    get maps() {
      return JSON.parse(body.toString('utf8', codeEnd + 4)) as string[]
    },
  }
}
