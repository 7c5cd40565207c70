import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { codeOf, isBelow, messageOf, readRegularFileSync } from '@svc/core'
import { CompileError } from './errors.ts'
import { type Manifest, matching, parseManifest } from './manifest.ts'
import { type TsconfigPaths, tsconfigPaths } from './tsconfig-paths.ts'

/** The resolver parses no larger file. */
const MAX_FILE_BYTES = 1024 * 1024
/** A site with more files of settings behind one import is refused. */
const MAX_REQUESTS = 20_000
/** For so long a result counts: a file may become a pipe without any notice of a change. */
const MEMO_MS = 1_000

/** An import that has to be followed. */
interface Request {
  readonly directory: string
  readonly specifier: string
}

/** The part of the site that this needs to know. */
interface Site {
  readonly root: string
  /** The directory below which a path is part of the site; undefined: it is not. */
  baseOf(path: string): string | undefined
}

/**
 * Checks the files that the resolver opens by itself: each `package.json` on the way of an import, `tsconfig.json` and those
 * that it extends. The resolver would wait for the writer of a pipe, and read a device without end.
 */
export class ResolverFiles {
  readonly #site: Site
  readonly #look: (path: string) => void
  /** By directory. */
  readonly #manifests = new Map<string, Manifest | undefined>()
  readonly #moduleDirs = new Map<string, boolean>()
  readonly #done = new Set<string>()
  #paths: TsconfigPaths | undefined
  #checkedAt = 0

  /** @param look told of each file and directory before it is looked at */
  constructor(site: Site, look: (path: string) => void) {
    this.#site = site
    this.#look = look
  }

  /** Forgets the results: files were added, removed or changed. */
  clear(): void {
    this.#manifests.clear()
    this.#moduleDirs.clear()
    this.#done.clear()
    this.#paths = undefined
  }

  /**
   * Checks all files that resolving `specifier` from `directory` may open.
   * @throws RENDER_RESOLVE for a file that is not a regular file, too large, or a link that leads out of the site
   */
  check(directory: string, specifier: string): void {
    const now = performance.now()
    if (now - this.#checkedAt > MEMO_MS) {
      this.clear()
      this.#checkedAt = now
    }
    try {
      this.#checkAll({ directory, specifier })
    } catch (error) {
      // Directories below the refused file are noted already: the next check must not stop at them.
      this.clear()
      throw error
    }
  }

  #checkAll(request: Request): void {
    const waiting = [request]
    this.#paths ??= tsconfigPaths(this.#site.root, {
      read: (file) => this.#text(file),
      refuse: (message) => {
        throw refusal(message)
      },
      candidates: (from, name) => this.#moduleDirsOf(from).map((modules) => join(modules, name)),
      follow: (from, name) => waiting.push({ directory: from, specifier: name }),
    })
    let count = 0
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (++count + waiting.length > MAX_REQUESTS)
        throw refusal(`"${request.specifier}" leads to more than ${MAX_REQUESTS} files of settings`)
      this.#follow(next, waiting)
    }
  }

  #follow({ directory, specifier }: Request, waiting: Request[]): void {
    const key = `${directory}\0${specifier}`
    if (this.#done.has(key)) return
    this.#visit(directory, waiting)
    const bare = specifier.replace(/(?<=.)[?#].*$/s, '')
    if (bare !== specifier) waiting.push({ directory, specifier: bare })
    if (/^(\.\.?)?\//.test(specifier) || specifier === '.' || specifier === '..')
      this.#visitFile(resolve(directory, specifier), waiting)
    else this.#visitPackage({ directory, specifier }, waiting)
    this.#done.add(key)
  }

  /** A file may also be meant in another of the `rootDirs`. */
  #visitFile(file: string, waiting: Request[]): void {
    this.#visit(file, waiting)
    for (const other of this.#paths?.beside(file) ?? []) this.#visit(other, waiting)
  }

  #visitPackage({ directory, specifier }: Request, waiting: Request[]): void {
    for (const file of this.#paths?.targets(specifier) ?? []) this.#visit(file, waiting)
    const name = /^(?:@[^/]*\/)?[^/]*/.exec(specifier)?.[0] ?? specifier
    const subpath = `.${specifier.slice(name.length)}`
    for (const modules of this.#moduleDirsOf(directory)) {
      this.#visit(join(modules, specifier), waiting)
      this.#followPatterns(join(modules, name), subpath, waiting)
    }
    // A package may import from itself, by its name or by "#".
    for (const dir of upwards(directory)) {
      if (specifier.startsWith('#')) this.#followPatterns(dir, specifier, waiting)
      else if (this.#manifests.get(dir)?.name === name) this.#followPatterns(dir, subpath, waiting)
    }
  }

  #followPatterns(directory: string, subpath: string, waiting: Request[]): void {
    const patterns = this.#manifests.get(directory)?.patterns ?? []
    for (const specifier of matching(patterns, subpath)) waiting.push({ directory, specifier })
  }

  #moduleDirsOf(directory: string): string[] {
    return upwards(directory)
      .map((dir) => join(dir, 'node_modules'))
      .filter((modules) => {
        let isThere = this.#moduleDirs.get(modules)
        if (isThere === undefined) {
          this.#look(modules)
          isThere = statOf(modules)?.isDirectory() === true
          this.#moduleDirs.set(modules, isThere)
        }
        return isThere
      })
  }

  /** Checks the `package.json` of a path, if that is a directory, and those of all directories above it. */
  #visit(path: string, waiting: Request[]): void {
    for (const directory of upwards(path)) {
      if (this.#manifests.has(directory)) return
      // Of the directories above the site only the names that are looked for count.
      if (!isBelow(this.#site.root, directory)) this.#look(directory)
      const text = this.#text(join(directory, 'package.json'))
      const manifest = text === undefined ? undefined : parseManifest(text)
      if (manifest !== undefined && manifest.targets.length + manifest.patterns.length > MAX_REQUESTS)
        throw refusal(`${join(directory, 'package.json')} names more than ${MAX_REQUESTS} files`)
      this.#manifests.set(directory, manifest)
      for (const specifier of manifest?.targets ?? []) waiting.push({ directory, specifier })
    }
  }

  /** The text of a file of settings; undefined if there is none. Never opens anything but a regular file. */
  #text(file: string): string | undefined {
    this.#look(file)
    const info = statOf(file)
    if (info === undefined || info.isDirectory()) return undefined
    if (!info.isFile()) throw refusal(`${file} is not a regular file`)
    if (info.size > MAX_FILE_BYTES) throw refusal(`${file} has ${info.size} bytes; the limit is ${MAX_FILE_BYTES}`)
    try {
      const real = realpathSync.native(file)
      const within = this.#site.baseOf(real)
      // Some files outside of the site seem to be regular files and block all the same, as those of /proc.
      if (within === undefined && this.#site.baseOf(file) !== undefined && lstatSync(file).isSymbolicLink())
        throw refusal(`${file} leads to ${real}, outside of the site's directory`)
      return readRegularFileSync(file, { maxBytes: MAX_FILE_BYTES, ...(within === undefined ? {} : { within }) }).toString('utf8')
    } catch (error) {
      if (error instanceof CompileError) throw error
      if (codeOf(error) === 'CORE_FILE_REFUSED') throw refusal(messageOf(error))
      // Gone or not readable: the resolver cannot read it either.
      return undefined
    }
  }
}

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    // Not reachable, or a link that leads to itself: it cannot be opened either.
    return undefined
  }
}

function refusal(message: string): CompileError {
  return new CompileError('RENDER_RESOLVE', `${message}: replace or remove it`)
}

/** A path and all directories above it. */
function upwards(path: string): string[] {
  const found = [path]
  for (let dir = path; dir !== dirname(dir); ) {
    dir = dirname(dir)
    found.push(dir)
  }
  return found
}
