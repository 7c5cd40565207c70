import { realpath } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { readBounded, whyUnreadable } from '@svc/core'
import { directiveNames } from '../directives/all-rules.ts'
import { type Place, wholeOf } from '../syntax/config-problem.ts'
import { parseDirectives } from '../syntax/parse-directives.ts'
import { type Directive, decodeBytes, SourceFile } from '../syntax/source-file.ts'
import { shown, type VhostProblems } from '../syntax/vhost-problems.ts'
import { findGlob, isGlob } from './glob.ts'

/** Directory in which nginx looks for `include fastcgi_params`. */
const NGINX_DIR = '/etc/nginx'
/** Files that include each other twice, and so on, double at every step. */
const MAX_INCLUDES = 20_000
/** Far more than the servers of a machine need. */
const MAX_FILE_BYTES = 64 * 1024 * 1024
/** Blocks lie three deep at most; deeper ones are reported as mistakes, with or without the files that they include. */
const MAX_DEPTH = 16
const names = new Set(directiveNames)

/** Reads vhost files and all that they include. Each file is read once. */
export class VhostFiles {
  readonly #problems: VhostProblems
  readonly #baseDir: string
  readonly #directories: Map<string, string>
  readonly #read = new Map<string, Promise<readonly Directive[] | undefined>>()
  readonly #identities = new Map<string, Promise<string>>()
  #includes = 0
  #areWhole = true

  /**
   * @param baseDir where a file is looked for that is not beside the one that includes it
   * @param directories gets the directory that relative paths start from, for files that a whole nginx.conf includes
   */
  constructor(problems: VhostProblems, baseDir: string, directories: Map<string, string>) {
    this.#problems = problems
    this.#baseDir = baseDir
    this.#directories = directories
  }

  /** All files that were read. */
  get files(): string[] {
    return [...this.#read.keys()]
  }

  /** True if all files were there and could be read to their end: else something may seem to be missing that is there. */
  get areWhole(): boolean {
    return this.#areWhole
  }

  /** Directives of a file, with those of included files in place of `include`. Empty when it cannot be read. */
  async load(file: string): Promise<readonly Directive[]> {
    const directives = (await this.#directives(file, wholeOf(file), '')) ?? []
    if (isWholeConfiguration(directives)) this.#directories.set(file, dirname(file))
    return this.#expand(directives, [file])
  }

  /** A file that is reached by two names is one. */
  #identity(file: string): Promise<string> {
    const known = this.#identities.get(file) ?? realpath(file).catch(() => file)
    this.#identities.set(file, known)
    return known
  }

  async #isOpen(file: string, open: readonly string[]): Promise<boolean> {
    const identity = await this.#identity(file)
    for (const other of open) if ((await this.#identity(other)) === identity) return true
    return false
  }

  async #directives(file: string, place: Place, prefix: string): Promise<readonly Directive[] | undefined> {
    const known = this.#read.get(file) ?? this.#parse(file, place, prefix)
    this.#read.set(file, known)
    return known
  }

  async #parse(file: string, place: Place, prefix: string): Promise<readonly Directive[] | undefined> {
    const read = await readBounded(file, MAX_FILE_BYTES)
    if (!read.ok) {
      const hint = read.code === 'EISDIR' ? `write ${file === '/' ? '' : file}/* for the files in it` : undefined
      this.#areWhole = false
      this.#problems.add(place, `${prefix}${read.why}`, hint)
      return undefined
    }
    const source = new SourceFile(file, read.bytes.toString('latin1'))
    const report = (offset: number, message: string, hint?: string) => this.#problems.add(source.placeAt(offset), message, hint)
    const { directives, isWhole } = parseDirectives(source, report, (name) => names.has(name))
    if (!isWhole) this.#areWhole = false
    return directives
  }

  /** @param open files that are being included, the outermost first */
  async #expand(directives: readonly Directive[], open: readonly string[], depth = 0): Promise<Directive[]> {
    const expanded: Directive[] = []
    for (const directive of directives) {
      if (directive.name.text === 'include' && directive.block === undefined)
        expanded.push(...(await this.#include(directive, open)))
      else if (directive.block === undefined || depth >= MAX_DEPTH) expanded.push(directive)
      else expanded.push({ ...directive, block: await this.#expand(directive.block, open, depth + 1) })
    }
    return expanded
  }

  async #include(directive: Directive, open: readonly string[]): Promise<Directive[]> {
    const place = directive.source.placeAt(directive.name.offset)
    const [word, ...more] = directive.args
    if (word === undefined || more.length > 0) {
      this.#problems.add(place, 'invalid number of arguments in "include" directive')
      return []
    }
    const written = decodeBytes(word.text)
    const paths = await this.#find(written, directive.source.path, place)
    if (paths.length === 0 && !isGlob(written)) {
      const looked = written.startsWith('/') ? [] : [`looked in ${this.#dirs(directive.source.path).join(', ')}`]
      const hints = [...looked, ...withoutNginx(written)]
      this.#areWhole = false
      this.#problems.add(place, `no such file: ${shown(word.text)}`, hints.length === 0 ? undefined : hints.join('; '))
    }
    const found: Directive[] = []
    for (const path of paths) found.push(...(await this.#includeFile(path, place, open)))
    return found
  }

  async #includeFile(path: string, place: Place, open: readonly string[]): Promise<Directive[]> {
    if (await this.#isOpen(path, open)) {
      this.#problems.add(place, `${path} includes itself`)
      return []
    }
    if (++this.#includes > MAX_INCLUDES) {
      if (this.#includes === MAX_INCLUDES + 1) this.#problems.add(place, `more than ${MAX_INCLUDES} files are included`)
      return []
    }
    const directives = await this.#directives(path, place, `${path}: `)
    if (directives === undefined) return []
    const root = this.#directories.get(open[0] ?? '')
    if (root !== undefined && !this.#directories.has(path)) this.#directories.set(path, root)
    return this.#expand(directives, [...open, path])
  }

  #dirs(from: string): string[] {
    const root = this.#directories.get(from)
    return [...new Set([...(root === undefined ? [] : [root]), dirname(from), this.#baseDir, NGINX_DIR])]
  }

  /** Files of an include: beside the file that includes them, else beside the config file, else where nginx has its own. */
  async #find(written: string, from: string, place: Place): Promise<string[]> {
    for (const dir of written.startsWith('/') ? ['/'] : this.#dirs(from)) {
      const found = await findGlob(resolve(dir, written), (unreadable, error) =>
        this.#problems.add(place, `${unreadable} ${whyUnreadable(error)}`),
      )
      if (found.length > 0) return found
    }
    return []
  }
}

const PARAMETER_FILES: ReadonlySet<string> = new Set(['fastcgi.conf', 'fastcgi_params'])

/** Advice about a missing file that comes with nginx. Undefined for an ordinary file. */
function withoutNginx(path: string): string[] {
  return PARAMETER_FILES.has(basename(path)) ? ['it is part of nginx; docs/fastcgi.md lists its lines'] : []
}

/** Returns true for a whole nginx.conf: it has an `http {}`. */
export function isWholeConfiguration(directives: readonly Directive[]): boolean {
  return directives.some(({ name, block }) => name.text === 'http' && block !== undefined)
}
