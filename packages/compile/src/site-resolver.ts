import { realpathSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { codeOf, isBelow, messageOf, readRegularFileSync } from '@svc/core'
import { type NapiResolveOptions, ResolverFactory } from 'oxc-resolver'
import { CompileError } from './errors.ts'
import { ResolverFiles } from './resolver-files.ts'
import { replacedSpecifier, servedName, unservedProblem } from './served-modules.ts'
import { TSCONFIG_NAMES } from './tsconfig-paths.ts'

/** Id of the module that replaces modules which a package leaves out in browsers (`"fs": false` in its `browser` field). */
export const EMPTY_MODULE = 'svc:empty'

/** The target of a specifier: a file, a module that is no file (served by the guest, or empty), or nothing. */
export type Resolution =
  | { readonly kind: 'file'; readonly id: string; readonly packageType: 'module' | 'commonjs' | undefined }
  | { readonly kind: 'builtin'; readonly id: string }
  | { readonly kind: 'none'; readonly message: string; readonly hint?: string; readonly refused?: CompileError }

const conditions = ['edge-light', 'worker', 'browser']
const extensions = ['.tsx', '.ts', '.jsx', '.js', '.mjs', '.cjs', '.mts', '.cts', '.json', '.css']

type ImportKind = 'import' | 'require' | 'style'

function optionsFor(root: string, kind: ImportKind): NapiResolveOptions {
  const isStyle = kind === 'style'

  const config = TSCONFIG_NAMES.map((name) => join(root, name)).find(isFile)
  return {
    conditionNames: isStyle ? ['style', 'default'] : [...conditions, kind, 'default'],
    extensions: isStyle ? ['.css'] : extensions,
    // TypeScript sources name their imports as the compiled files are named.
    extensionAlias: {
      '.js': ['.js', '.ts', '.tsx'],
      '.mjs': ['.mjs', '.mts'],
      '.jsx': ['.jsx', '.tsx'],
      '.cjs': ['.cjs', '.cts'],
    },
    mainFields: isStyle ? ['style', 'main'] : ['browser', 'module', 'main'],
    ...(isStyle ? { mainFiles: ['index'] } : { aliasFields: ['browser'] }),
    symlinks: true,
    moduleType: true,
    nodePath: false,
    ...(config === undefined ? {} : { tsconfig: { configFile: config, references: 'auto' } }),
  }
}

function resolversFor(root: string): Readonly<Record<ImportKind, ResolverFactory>> {
  const first = new ResolverFactory(optionsFor(root, 'import'))
  const other = (kind: ImportKind) => first.cloneWithOptions(optionsFor(root, kind))
  return { import: first, require: other('require'), style: other('style') }
}

function isFile(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isFile() === true
  } catch {
    // Not reachable: the site has no such file.
    return false
  }
}

/** True if the file is part of a package and not of the site's own source. */
export function isPackageFile(file: string): boolean {
  return file.includes(`${sep}node_modules${sep}`)
}

/**
 * Resolves the imports of one site. Nothing outside of the site's directory is reached, with one exception: packages may
 * be hoisted to a `node_modules` directory of a parent directory, as package managers do in workspaces. Links are followed
 * first, so that a link does not lead out either.
 */
export class SiteResolver {
  /** Real path of the site's directory. */
  readonly root: string
  /** Its own directory, and the `node_modules` of the directories above it. */
  readonly #bases: readonly string[]
  /** Found since the last look at the disk, by kind, directory of the importer and specifier. */
  readonly #found = new Map<string, Resolution>()
  /** Files among them: real paths inside of the site. */
  readonly #files = new Set<string>()
  readonly #checked: ResolverFiles
  #resolvers: Readonly<Record<ImportKind, ResolverFactory>>

  /**
   * @param look told of each path that a result may follow from, before it is looked at
   * @throws ENOENT when the directory does not exist
   */
  constructor(root: string, look: (path: string) => void = () => undefined) {
    this.root = realpathSync(root)
    this.#checked = new ResolverFiles(this, look)
    this.#bases = [this.root, ...parentsOf(this.root).map((dir) => join(dir, 'node_modules'))]
    this.#resolvers = resolversFor(this.root)
  }

  /** Resolves a specifier as written in `importer`, a real path. */
  resolve(importer: string, specifier: string, kind: 'import' | 'require'): Resolution {
    if (specifier.startsWith('.')) return this.#resolveFile(importer, specifier, kind)
    const served = servedName(specifier)
    if (served !== undefined) return { kind: 'builtin', id: `builtin:${served}` }
    if (isBuiltin(specifier)) return this.#resolveNodeName(importer, specifier, kind)
    return this.#resolveFile(importer, specifier, kind)
  }

  /** Resolves an `@import` of a style sheet: a plain name is a file beside it before it is a package. */
  resolveStyle(importer: string, specifier: string): Resolution {
    const beside = /^[./]/.test(specifier) ? undefined : this.#resolveFile(importer, `./${specifier}`, 'style')
    return beside?.kind === 'file' ? beside : this.#resolveFile(importer, specifier, 'style')
  }

  /**
   * `type` of the package that a file is part of.
   * @throws RENDER_RESOLVE for a `package.json` or `tsconfig.json` that must not be opened
   */
  packageTypeOf(file: string): 'module' | 'commonjs' | undefined {
    const found = this.#resolveFile(file, file, 'import')
    if (found.kind === 'none' && found.refused !== undefined) throw found.refused
    return found.kind === 'file' ? found.packageType : undefined
  }

  /** True if a file is known to be a real path inside of the site since the last `clear`. */
  hasFound(file: string): boolean {
    return this.#files.has(file)
  }

  /** True if a file may be part of the site. `file` is a real path. */
  contains(file: string): boolean {
    return this.baseOf(file) !== undefined
  }

  baseOf(path: string): string | undefined {
    return this.#bases.find((base) => isBelow(path, base))
  }

  /**
   * Reads a file of the site by its real path. A directory of it may have become a link meanwhile, which is not followed out.
   * @throws RENDER_RESOLVE for anything but a regular file of the site of at most `maxBytes`; the error of the system
   */
  read(file: string, maxBytes: number): Buffer {
    try {
      return readRegularFileSync(file, { maxBytes, within: this.baseOf(file) ?? this.root })
    } catch (error) {
      if (codeOf(error) === 'CORE_FILE_REFUSED') throw new CompileError('RENDER_RESOLVE', messageOf(error), { cause: error })
      throw error
    }
  }

  /** Forgets all results: files were added, removed or changed. */
  clear(): void {
    this.#found.clear()
    this.#files.clear()
    this.#checked.clear()
    this.#resolvers = resolversFor(this.root)
  }

  /** A package may replace a Node built-in by its `browser` field or bring one of the same name. */
  #resolveNodeName(importer: string, specifier: string, kind: 'import' | 'require'): Resolution {
    if (!specifier.startsWith('node:')) {
      const own = this.#resolveFile(importer, specifier, kind)
      if (own.kind !== 'none') return own
    }
    return {
      kind: 'none',
      message: `the Node module "${specifier}" is not available to a site`,
      hint: 'use the web platform (fetch, crypto, URL, streams) or a package that does without it',
    }
  }

  #resolveFile(importer: string, specifier: string, kind: ImportKind): Resolution {
    const key = `${kind}\0${dirname(importer)}\0${specifier}`
    const known = this.#found.get(key)
    if (known !== undefined) return known
    const resolution = this.#lookUp(importer, specifier, kind)
    if (resolution.kind !== 'none') this.#found.set(key, resolution)
    if (resolution.kind === 'file') this.#files.add(resolution.id)
    return resolution
  }

  #lookUp(importer: string, specifier: string, kind: ImportKind): Resolution {
    const refused = this.#refusal(importer, specifier)
    if (refused !== undefined) return { kind: 'none', message: refused.message, refused }
    const found = this.#resolvers[kind].resolveFileSync(importer, specifier)
    if (found.path === undefined) {
      if (found.error?.startsWith('Path is ignored') === true) return { kind: 'builtin', id: EMPTY_MODULE }
      return this.#missing(specifier, kind, found.error)
    }
    const id = found.path.replace(/[?#].*$/, '')
    if (!this.contains(id)) {
      return {
        kind: 'none',
        message: `"${specifier}" leads to ${id}, outside of the site's directory`,
        hint: 'a site may use files below its own directory and packages in a node_modules directory of it or of its parents',
      }
    }
    // A style sheet of such a package runs nothing.
    const replaced = kind === 'style' ? undefined : replacedSpecifier(id)
    if (replaced !== undefined) return this.#replaced(specifier, replaced, kind)
    const packageType = found.moduleType === 'module' || found.moduleType === 'commonjs' ? found.moduleType : undefined
    return { kind: 'file', id, packageType }
  }

  #refusal(importer: string, specifier: string): CompileError | undefined {
    try {
      this.#checked.check(dirname(importer), specifier)
      return undefined
    } catch (error) {
      if (error instanceof CompileError && codeOf(error) === 'RENDER_RESOLVE') return error
      throw error
    }
  }

  /** The stand-in for a file of a package that is never run. */
  #replaced(specifier: string, replaced: string, kind: ImportKind): Resolution {
    const served = servedName(replaced)
    if (served !== undefined) return { kind: 'builtin', id: `builtin:${served}` }
    return this.#missing(/^[./]/.test(specifier) ? replaced : specifier, kind)
  }

  #missing(specifier: string, kind: ImportKind, error?: string): Resolution {
    const unserved = kind === 'style' ? undefined : unservedProblem(specifier)
    if (unserved !== undefined) return { kind: 'none', ...unserved }
    const isRelative = /^[./]/.test(specifier)
    const hint = isRelative ? 'is the file there, and its name spelled the same way?' : 'is the package installed?'
    return { kind: 'none', message: `cannot find "${specifier}"${error === undefined ? '' : `: ${error}`}`, hint }
  }
}

function parentsOf(dir: string): string[] {
  const parents: string[] = []
  for (let current = dirname(dir); ; current = dirname(current)) {
    parents.push(current)
    if (current === dirname(current)) return parents
  }
}
