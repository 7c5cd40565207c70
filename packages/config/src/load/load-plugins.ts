import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { isBelow, loadRegularFile, messageOf, printable, userName, whyUnreadable } from '@svc/core'
import type { Finding } from '../values/finding.ts'

const MAX_PLUGINS = 64
/** Files and directories below the directory, packages left out. */
const MAX_ENTRIES = 1_000
const MAX_FILE_BYTES = 1024 * 1024
const MAX_BYTES = 8 * 1024 * 1024
const MAX_DEPTH = 8
/** Problems that are listed. */
const MAX_PROBLEMS = 20

/** One plugin, as its file shows it. */
export interface PluginSpec {
  /** The name of the file without its number and its ending. */
  readonly name: string
  /** Absolute path, links followed. */
  readonly file: string
  /** Of its content and of the modules beside it: a plugin with another hash is loaded again. */
  readonly hash: string
  readonly enabled: boolean
}

/** Content of `plugins.directory`, as every worker loads it. */
export interface PluginSet {
  /** Absolute path, links followed. */
  readonly directory: string
  /** In the order in which they see a request. */
  readonly plugins: readonly PluginSpec[]
  /** All modules, by the absolute paths of their files. */
  readonly sources: readonly { readonly file: string; readonly text: string }[]
}

/** The plugins of a directory, or its problems. */
interface LoadedPlugins {
  readonly set?: PluginSet
  readonly findings: readonly Finding[]
}

const WRITABLE_BY_OTHERS = 0o022
const MODULE = /\.m?js$/
const FOREIGN_MODULE = /(?<!\.d)\.(?:cjs|[cm]?ts|tsx|jsx)$/
const PLUGIN_FILE = /^(?:\d+-)?([a-z][a-z0-9_-]{0,63})\.m?js$/

/** Users that may own files which the server executes. */
interface Owner {
  readonly uid: number
  readonly name: string
}

/**
 * Reads the plugins of a directory without executing anything: what is in it, who may change it, and the text of each module. Every
 * worker gets these very texts: one that starts later runs what the others run.
 */
export async function loadPlugins(
  directory: string | undefined,
  owner: Owner = { uid: process.geteuid?.() ?? 0, name: userName() },
): Promise<LoadedPlugins> {
  if (directory === undefined) return { findings: [] }
  const walk = new Walk(owner)
  try {
    const root = await realpath(directory)
    await walk.start(root)
    const set = walk.problems.length === 0 ? pluginSet(root, walk) : undefined
    if (set !== undefined) walk.problems.push(...(await syntaxProblems(set)))
    if (set !== undefined && walk.problems.length === 0) return { set, findings: [] }
  } catch (error) {
    walk.problems.unshift(`${printable(directory)} ${whyUnreadable(error)}`)
  }
  const shown = walk.problems.slice(0, MAX_PROBLEMS)
  return { findings: shown.map((message) => ({ path: ['plugins', 'directory'], message })) }
}

/** Collects the modules below a directory. */
class Walk {
  readonly problems: string[] = []
  /** Texts by path. */
  readonly modules = new Map<string, string>()
  readonly #owner: Owner
  #root = ''
  #entries = 0
  #bytes = 0

  constructor(owner: Owner) {
    this.#owner = owner
  }

  async start(root: string): Promise<void> {
    this.#root = root
    const info = await stat(root)
    if (!info.isDirectory()) this.problems.push(`${printable(root)} is not a directory`)
    else if (this.#isTrusted(root, info)) await this.#readAll(root, 0)
  }

  async #readAll(directory: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) {
      this.problems.push(`${printable(directory)} is more than ${MAX_DEPTH} directories below plugins.directory`)
      return
    }
    for (const name of (await readdir(directory)).sort()) {
      if (name.startsWith('.')) continue
      if (++this.#entries > MAX_ENTRIES) {
        this.problems.push(
          `${printable(this.#root)} holds more than ${MAX_ENTRIES} files: move those away that no plugin imports`,
        )
        return
      }
      await this.#look(join(directory, name), depth).catch((error: unknown) =>
        this.problems.push(`${printable(join(directory, name))}: ${messageOf(error)}`),
      )
      if (this.problems.length >= MAX_PROBLEMS || this.#entries > MAX_ENTRIES) return
    }
  }

  async #look(path: string, depth: number): Promise<void> {
    const real = await realpath(path)
    if (!isBelow(real, this.#root)) {
      this.problems.push(`${printable(path)} is a link to ${printable(real)}, outside of plugins.directory: copy the file`)
      return
    }
    const info = await stat(real)
    if (!this.#isTrusted(path, info)) return
    if (info.isDirectory()) {
      // Packages are loaded as Node.js loads them. A link to a directory of this tree is read there.
      if (basename(path) !== 'node_modules' && real === path) await this.#readAll(path, depth + 1)
      return
    }
    if (FOREIGN_MODULE.test(path)) {
      this.problems.push(`${printable(path)} is no ES module in JavaScript: compile it to .mjs, and keep its source elsewhere`)
      return
    }
    if (!MODULE.test(path) || this.modules.has(real)) return
    const { bytes } = await loadRegularFile(real, { maxBytes: MAX_FILE_BYTES, within: this.#root })
    this.#bytes += bytes.byteLength
    if (this.#bytes > MAX_BYTES) {
      this.problems.push(`the modules of ${printable(this.#root)} have more than ${MAX_BYTES} bytes`)
      this.#entries = MAX_ENTRIES + 1
      return
    }
    this.modules.set(real, bytes.toString())
  }

  /** Code that another user can change would run with the rights of the server. */
  #isTrusted(path: string, { uid, mode }: Stats): boolean {
    if (uid !== 0 && uid !== this.#owner.uid) {
      const hint = `only root and ${this.#owner.name} may own plugins (chown)`
      this.problems.push(`${printable(path)} belongs to user ${uid}: ${hint}`)
      return false
    }
    if ((mode & WRITABLE_BY_OTHERS) === 0) return true
    const bits = (mode & 0o7777).toString(8).padStart(4, '0')
    this.problems.push(`${printable(path)} can be changed by other users (mode ${bits}): chmod go-w it`)
    return false
  }
}

/** The first error of each module, with its line. Nothing is executed. */
async function syntaxProblems({ sources }: PluginSet): Promise<string[]> {
  if (sources.length === 0) return []
  const { parseSync } = await import('oxc-parser')
  return sources.flatMap(({ file, text }) => {
    const [error] = parseSync(file, text, { lang: 'js', sourceType: 'module' }).errors
    if (error === undefined) return []
    const before = Buffer.from(text)
      .subarray(0, error.labels[0]?.start ?? 0)
      .toString()
    return [`${printable(file)}:${before.split('\n').length}: ${printable(error.message)}`]
  })
}

/** Modules at the top are plugins, those below are imported by them. Undefined after a problem with a name. */
function pluginSet(directory: string, { modules, problems }: Pick<Walk, 'modules' | 'problems'>): PluginSet | undefined {
  const isTop = (file: string) => !file.slice(directory.length + 1).includes(sep)
  const all = [...modules].sort(([one], [other]) => (one < other ? -1 : 1))
  const shared = createHash('sha256')
  for (const [file, text] of all) if (!isTop(file)) shared.update(`${file}\0${text.length}\0${text}\0`)
  const ofShared = shared.digest('hex')
  const plugins = new Map<string, PluginSpec>()
  for (const [file, text] of all.filter(([path]) => isTop(path))) {
    const name = PLUGIN_FILE.exec(basename(file))?.[1]
    const known = name === undefined ? undefined : plugins.get(name)
    if (name === undefined)
      problems.push(
        `${printable(file)} has no name of a plugin: expected lower-case letters, digits, "-" and "_", as 10-auth.mjs`,
      )
    else if (known !== undefined) problems.push(`${printable(file)} and ${known.file} are both the plugin "${name}": rename one`)
    else {
      const hash = createHash('sha256').update(`${file}\0${ofShared}\0${text}`).digest('hex').slice(0, 16)
      plugins.set(name, { name, file, hash, enabled: true })
    }
  }
  if (plugins.size > MAX_PLUGINS)
    problems.push(`${printable(directory)} has ${plugins.size} plugins; at most ${MAX_PLUGINS} are loaded`)
  if (problems.length > 0) return undefined
  return { directory, plugins: [...plugins.values()], sources: all.map(([file, text]) => ({ file, text })) }
}
