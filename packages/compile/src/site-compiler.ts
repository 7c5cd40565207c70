import { realpathSync, statSync } from 'node:fs'
import { asError, codeOf, SingleFlight } from '@svc/core'
import type { CompiledSource, SourceInput } from './compile-source.ts'
import { ResolvedModule } from './compiled-module.ts'
import { COMPILER_VERSION, contentHash, watchHashOf } from './content-hash.ts'
import { CompileError } from './errors.ts'
import type { FileStamp, IndexEntry, ModuleCache } from './module-cache.ts'
import { languageOf, moduleKindOf } from './module-kind.ts'
import { EMPTY_MODULE, isPackageFile, type Resolution, type SiteResolver } from './site-resolver.ts'
import { positionAt, sourceError } from './source-problem.ts'
import type { StyleCompiler } from './style-module.ts'

/** Options of a `SiteCompiler`. */
interface SiteCompilerOptions {
  readonly resolver: SiteResolver
  readonly cache: ModuleCache
  readonly mode: 'production' | 'development'
  /** Told in production when a file does not compile and the version before it is served instead. */
  readonly onLastGood: (file: string, error: Error) => void
}

const emptyModule = new ResolvedModule(
  EMPTY_MODULE,
  '',
  { format: 'cjs', code: '', imports: [], lateImports: [], maps: [], watches: [], watchHash: '', warnings: [] },
  {},
)

/** A larger file is not compiled: it would not fit into an isolate either. */
const MAX_MODULE_BYTES = 16 * 1024 * 1024

/**
 * The largest barrel files of packages have some ten thousand imports, each with a path. The main thread of a render host reads them
 * from the index, and passes them on.
 */
const MAX_IMPORT_CHARS = 4 * 1024 * 1024
/** Render threads read compiled code whole. */
const MAX_COMPILED_CHARS = 64 * 1024 * 1024

/** @throws RENDER_RESOLVE for anything but a regular file of a size that is read as a whole */
function stampOf(file: string): FileStamp {
  const stat = statSync(file, { bigint: true })
  if (!stat.isFile()) throw new CompileError('RENDER_RESOLVE', `${file}: not a regular file`)
  if (stat.size > MAX_MODULE_BYTES) {
    throw new CompileError('RENDER_RESOLVE', `${file}: larger than ${MAX_MODULE_BYTES} bytes, the limit for a module`)
  }
  return { size: Number(stat.size), mtime: String(stat.mtimeNs), ctime: String(stat.ctimeNs) }
}

/** A file touched this recently may change again without a new time stamp. */
const RACY_MS = 50

function isSettled(stamp: FileStamp): boolean {
  return Date.now() - Number(stamp.ctime) / 1_000_000 > RACY_MS
}

function isSameFile(entry: FileStamp, stamp: FileStamp): boolean {
  return entry.size === stamp.size && entry.mtime === stamp.mtime && entry.ctime === stamp.ctime
}

/** Facts about a module before its source is read. */
interface Seen {
  /** Of its file now, or why it has none. */
  readonly stamp: FileStamp | Error
  readonly entry: IndexEntry | undefined
  /** True if the entry is of a file with this stamp. */
  readonly isSame: boolean
}

/** Compiles the modules of one site, through the caches on disk. Keeps nothing in memory. */
export class SiteCompiler {
  readonly #options: SiteCompilerOptions
  readonly #running = new SingleFlight<string, ResolvedModule>()
  #styles: StyleCompiler | undefined

  constructor(options: SiteCompilerOptions) {
    this.#options = options
  }

  /**
   * Compiles a module, or takes it from disk when its file has not changed. In production a file that does not compile is
   * replaced by its last version that did, so that a half-written file breaks nothing.
   * @throws RENDER_COMPILE, RENDER_RESOLVE
   */
  async load(id: string): Promise<ResolvedModule> {
    if (id === EMPTY_MODULE) return emptyModule
    const seen = this.#look(id)
    return this.#unchanged(id, seen) ?? (await this.#running.run(id, () => this.#load(id, seen)))
  }

  /** True if the style sheets that a module is made of have the content that it was made with. */
  isCurrent({ source }: ResolvedModule): boolean {
    return source.watches.length === 0 || source.watchHash === this.#hashOf(source.watches)
  }

  #look(id: string): Seen {
    const entry = this.#options.cache.indexed(id)
    try {
      const stamp = this.#stamp(id)
      return { stamp, entry, isSame: entry !== undefined && isSameFile(entry, stamp) }
    } catch (error) {
      return { stamp: asError(error), entry, isSame: false }
    }
  }

  /** A module whose file did not change, in one go; undefined when its source has to be looked at, or there is something to report. */
  #unchanged(id: string, { stamp, entry, isSame }: Seen): ResolvedModule | undefined {
    if (entry === undefined || !isSame || stamp instanceof Error || !isSettled(stamp)) return undefined
    const compiled = this.#cached(entry.hash)
    const dependencies = compiled === undefined ? undefined : this.#resolved(id, compiled)
    if (compiled === undefined || dependencies === undefined) return undefined
    return new ResolvedModule(id, entry.hash, compiled, dependencies)
  }

  async #load(id: string, seen: Seen): Promise<ResolvedModule> {
    try {
      return await this.#compile(id, seen)
    } catch (error) {
      const lastGood = this.#options.mode === 'production' ? this.#lastGood(id, seen.entry) : undefined
      if (lastGood === undefined) throw error
      this.#options.onLastGood(id, asError(error))
      return lastGood
    }
  }

  async #compile(id: string, { stamp, entry, isSame }: Seen): Promise<ResolvedModule> {
    if (stamp instanceof Error) throw stamp
    const { cache, resolver, mode } = this.#options
    const source = resolver.read(id, MAX_MODULE_BYTES).toString('utf8')
    const facts = { file: id, source, packageType: resolver.packageTypeOf(id), isPackage: isPackageFile(id) }
    const kind = await moduleKindOf(facts)
    const name = kind.startsWith('css') ? id : languageOf(id)
    const hash = contentHash([COMPILER_VERSION, kind, mode, name, source].join('\n'))
    const compiled = this.#cached(hash) ?? (await this.#compileAndStore(hash, { file: id, source, kind, mode }))
    const dependencies = this.#resolved(id, compiled) ?? (await this.#explained(id, compiled))
    if (charsOf(dependencies) > MAX_IMPORT_CHARS) {
      throw new CompileError('RENDER_RESOLVE', `${id}: its imports have more than ${MAX_IMPORT_CHARS} characters`)
    }
    if (entry?.hash !== hash || !isSame) cache.storeIndexed({ path: id, hash, ...stamp, imports: dependencies })
    return new ResolvedModule(id, hash, compiled, dependencies)
  }

  /** A style sheet is current only while the files that it imports are. */
  #cached(hash: string): CompiledSource | undefined {
    const compiled = this.#options.cache.compiled(hash)
    return compiled === undefined || compiled.watchHash === this.#hashOf(compiled.watches) ? compiled : undefined
  }

  /** Hash of style sheets as `StyleCompiler` makes it; undefined when one cannot be read: compiling says so, with the place. */
  #hashOf(files: readonly string[]): string | undefined {
    try {
      return watchHashOf(files.map((file) => contentHash(this.#options.resolver.read(file, MAX_MODULE_BYTES))))
    } catch {
      return undefined
    }
  }

  async #compileAndStore(hash: string, input: SourceInput): Promise<CompiledSource> {
    const { cache, resolver } = this.#options
    // Loaded here, with the parser and the transform: on a warm disk nothing of them is ever needed.
    const [{ compileSource }, { StyleCompiler }] = await Promise.all([import('./compile-source.ts'), import('./style-module.ts')])
    this.#styles ??= new StyleCompiler()
    const compiled = await compileSource(input, resolver, this.#styles)
    if (compiled.code.length > MAX_COMPILED_CHARS) {
      const message = `${input.file}: has more than ${MAX_COMPILED_CHARS} characters when it is compiled`
      throw new CompileError('RENDER_COMPILE', message)
    }
    cache.storeCompiled(hash, compiled)
    return compiled
  }

  /** @throws RENDER_RESOLVE when the file is gone or lies, by a link, outside of the site */
  #stamp(id: string): FileStamp {
    const { resolver } = this.#options
    try {
      if (resolver.hasFound(id) || resolver.contains(realpathSync.native(id))) return stampOf(id)
    } catch (error) {
      if (error instanceof CompileError) throw error
      throw new CompileError('RENDER_RESOLVE', `${id}: ${codeOf(error) === 'ENOENT' ? 'no such file' : 'not readable'}`, {
        cause: error,
      })
    }
    throw new CompileError('RENDER_RESOLVE', `${id}: leads outside of the site's directory`)
  }

  /** The targets of the imports; undefined when one of them has none. */
  #resolved(id: string, compiled: CompiledSource): Record<string, string> | undefined {
    const kind = importKindOf(compiled)
    const dependencies: Record<string, string> = {}
    for (const specifiers of [compiled.imports, compiled.lateImports]) {
      for (const specifier of specifiers) {
        const found = this.#options.resolver.resolve(id, specifier, kind)
        if (found.kind === 'none') return undefined
        dependencies[specifier] = found.id
      }
    }
    return dependencies
  }

  /**
   * The same with the error for an import that leads nowhere.
   * @throws RENDER_RESOLVE unless it fails only when it is reached
   */
  async #explained(id: string, compiled: CompiledSource): Promise<Record<string, string>> {
    const kind = importKindOf(compiled)
    const dependencies: Record<string, string> = {}
    for (const specifier of compiled.imports) {
      const found = this.#options.resolver.resolve(id, specifier, kind)
      if (found.kind === 'none') throw await this.#unresolved(id, specifier, found)
      dependencies[specifier] = found.id
    }
    for (const specifier of compiled.lateImports) {
      const found = this.#options.resolver.resolve(id, specifier, kind)
      dependencies[specifier] ??= found.kind === 'none' ? `!${(await this.#unresolved(id, specifier, found)).message}` : found.id
    }
    return dependencies
  }

  async #unresolved(id: string, specifier: string, found: Extract<Resolution, { kind: 'none' }>): Promise<CompileError> {
    const source = this.#options.resolver.read(id, MAX_MODULE_BYTES).toString('utf8')
    const at = positionAt(source, await offsetOfSpecifier(id, source, specifier))
    return sourceError({ code: 'RENDER_RESOLVE', file: id, source, at, ...found })
  }

  #lastGood(id: string, entry: IndexEntry | undefined): ResolvedModule | undefined {
    const compiled = entry === undefined ? undefined : this.#options.cache.compiled(entry.hash)
    return entry === undefined || compiled === undefined ? undefined : new ResolvedModule(id, entry.hash, compiled, entry.imports)
  }
}

function charsOf(dependencies: Readonly<Record<string, string>>): number {
  return Object.entries(dependencies).reduce((sum, [specifier, target]) => sum + specifier.length + target.length, 0)
}

function importKindOf({ format }: CompiledSource): 'import' | 'require' {
  return format === 'cjs' ? 'require' : 'import'
}

/** Finds a specifier in a source text, for the error when it could not be resolved. */
async function offsetOfSpecifier(file: string, source: string, specifier: string): Promise<number> {
  const { parseSync, Visitor } = await import('oxc-parser')
  const { module, program } = parseSync(file, source, { lang: languageOf(file), sourceType: 'unambiguous' })
  const requests = [...module.staticImports, ...module.staticExports.flatMap((statement) => statement.entries)]
  for (const { moduleRequest } of requests) {
    if (moduleRequest?.value === specifier) return moduleRequest.start
  }
  let found: number | undefined
  const look = (node: { type: string; start: number; value?: unknown } | undefined) => {
    if (node?.type === 'Literal' && node.value === specifier) found ??= node.start
  }
  new Visitor({
    ImportExpression: (node) => look(node.source),
    CallExpression: ({ callee, arguments: [first] }) => {
      if (callee.type === 'Identifier' && callee.name === 'require') look(first)
    },
  }).visit(program)
  // Specifiers that the compiler adds, as that of the JSX runtime, stand nowhere.
  return found ?? 0
}
