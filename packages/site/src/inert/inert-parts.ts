import { lstatSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import type { SiteProblem } from '../manifest/manifest.ts'
import { codeExtensions, roleOf } from '../tree/conventions.ts'
import type { FoundFile } from '../tree/directory-tree.ts'
import { parseMetadataName } from '../tree/metadata-name.ts'
import type { SiteFiles } from '../tree/site-files.ts'
import {
  inertExports,
  inertRootFiles,
  inertRootModules,
  moduleNames,
  type Notice,
  nextConfigKeys,
  noticeOfName,
} from './inert-names.ts'

/** The site to look through. */
interface InertPartsOptions {
  readonly root: string
  readonly appDir: string | null
  readonly files: SiteFiles
  /** Receives a problem for each part without effect. */
  readonly problems: SiteProblem[]
}

const NO_SERVER_ACTIONS = '"use server" is not supported: answer the form or the fetch with a handler in a route.ts'
/** Keys that one notice names. */
const MAX_KEYS = 12

/**
 * Finds the files and exports of a site that its author may count on and that have no effect: an error where they decide who gets
 * what answer, else a warning.
 */
export class InertParts {
  readonly #options: InertPartsOptions

  constructor(options: InertPartsOptions) {
    this.#options = options
  }

  /** Looks at a file of a routed directory. */
  foundFile({ directory, name, isTop }: FoundFile): void {
    const { root, appDir } = this.#options
    const file = `${directory}/${name}`
    const notice = isTop && appDir === root && isRootModule(name) ? undefined : noticeOfName(name, isTop)
    if (notice !== undefined) this.#say(file, notice)
    if (codeExtensions.some((extension) => name.endsWith(`.${extension}`)) && !name.endsWith('.d.ts')) this.#module(file, name)
  }

  /** Looks at the files beside the app directory. */
  ofSite(middleware: string | undefined): void {
    const { root, files } = this.#options
    for (const [name, notice] of inertRootFiles) if (isFile(join(root, name))) this.#say(join(root, name), notice)
    for (const directory of [root, join(root, 'src')]) {
      for (const [stem, notice] of inertRootModules) {
        for (const name of moduleNames(stem)) if (isFile(join(directory, name))) this.#say(join(directory, name), notice)
      }
      for (const stem of ['middleware', 'proxy']) {
        for (const name of moduleNames(stem).slice(codeExtensions.length)) this.#unreadGuard(join(directory, name), stem)
      }
      this.#pagesRouter(join(directory, 'pages'))
    }
    // Read when modules are compiled; of one that cannot be read nothing would be said then.
    for (const name of ['package.json', 'tsconfig.json', 'jsconfig.json'])
      if (isFile(join(root, name))) files.text(join(root, name))
    for (const name of moduleNames('next.config')) if (isFile(join(root, name))) this.#nextConfig(join(root, name))
    if (middleware === undefined) return
    const exports = files.look(middleware)?.exports
    if (exports === undefined || ['middleware', 'proxy', 'default'].some((name) => exports.has(name))) return
    const message = 'exports neither middleware, proxy nor a default function: every request that its matcher matches fails'
    this.#say(middleware, { severity: 'error', message })
  }

  #module(file: string, name: string): void {
    const survey = this.#options.files.look(file)
    if (survey === undefined) return
    if (survey.useServerLine !== undefined)
      this.#say(file, { severity: 'error', message: NO_SERVER_ACTIONS }, survey.useServerLine)
    if (roleOf(name) === undefined && parseMetadataName(name, true) === undefined) return
    for (const [exported, line] of survey.exports) {
      const why = inertExports.get(exported)
      if (why !== undefined) this.#say(file, { severity: 'warning', message: `"${exported}" has no effect: ${why}` }, line)
    }
  }

  #unreadGuard(file: string, stem: string): void {
    if (isFile(file)) this.#say(file, { severity: 'error', message: `is ignored and protects nothing: rewrite it as ${stem}.ts` })
  }

  #pagesRouter(directory: string): void {
    const names = ['index', '_app', '_document'].flatMap((stem) => codeExtensions.map((extension) => `${stem}.${extension}`))
    const isRouter = names.some((name) => isFile(join(directory, name))) || look(join(directory, 'api'))?.isDirectory() === true
    if (!isRouter) return
    const message = 'the Pages Router is not supported: nothing of this directory is served; move its pages into app/'
    this.#say(directory, { severity: 'error', message })
  }

  #nextConfig(file: string): void {
    const { files } = this.#options
    const text = files.text(file)
    const keys = text === undefined ? [] : (files.parsed(file, () => nextConfigKeys(file, text)) ?? [])
    const others: string[] = []
    for (const { name, line, advice } of keys) {
      if (advice === undefined) others.push(name)
      else this.#say(file, { severity: 'error', message: `"${name}" has no effect: ${advice}` }, line)
    }
    const more = others.length > MAX_KEYS ? ', ...' : ''
    const named = others.length === 0 ? '' : `: ${others.slice(0, MAX_KEYS).join(', ')}${more}`
    if (others.length > 0 || keys.length === 0) this.#say(file, { severity: 'warning', message: `is not read${named}` })
  }

  #say(file: string, notice: Notice, line?: number): void {
    this.#options.problems.push({ ...notice, file, ...(line === undefined ? {} : { line }) })
  }
}

/** Files of these names are looked at by `ofSite` where the site's root is its app directory. */
function isRootModule(name: string): boolean {
  return /^(?:middleware|proxy)\./.test(name)
}

function isFile(path: string): boolean {
  return look(path)?.isDirectory() === false
}

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // Not below a directory, or not readable: there is nothing to report.
    return undefined
  }
}
