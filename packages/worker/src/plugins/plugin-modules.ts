import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { PluginSet, PluginSpec } from '@svc/config'
import { asError, withDeadline } from '@svc/core'
import { WorkerError } from '../errors/errors.ts'

/** Time for a module and those that it imports. The master waits longer for the whole generation. */
const LOAD_MS = 10_000
const MARK = '?svc='

/**
 * Loads the modules of plugins from the texts that the master has read. The hash of a plugin is part of the URL of its modules, so that
 * a changed one is another module for Node.js. Modules cannot be unloaded: the memory of those before stays until the process ends.
 */
export class PluginModules {
  /** Texts by path, by the hash of the plugin that imports them. */
  readonly #texts = new Map<string, ReadonlyMap<string, string>>()
  readonly #loadMs: number
  #isHooked = false

  constructor(loadMs = LOAD_MS) {
    this.#loadMs = loadMs
  }

  /** The default export of a plugin. @throws WORKER_PLUGIN */
  async load({ file, hash }: PluginSpec, { sources }: PluginSet): Promise<unknown> {
    this.#hook()
    this.#texts.set(hash, new Map(sources.map((source) => [source.file, source.text])))
    const loading = import(pathToFileURL(file).href + MARK + hash)
    const what = `its module did not finish loading within ${this.#loadMs} ms: does it await something that never comes?`
    try {
      const { default: exported } = await withDeadline(loading, this.#loadMs, what)
      return exported
    } catch (thrown) {
      // Nothing waits for it any more.
      loading.catch(() => undefined)
      const error = asError(thrown)
      const isLate = (error as { code?: unknown }).code === 'CORE_TIMEOUT'
      const message = isLate ? `${file}: ${what}` : `${placeOf(error) ?? file}: ${error.message}`
      throw new WorkerError('WORKER_PLUGIN', `plugin ${message}`, { cause: error })
    }
  }

  /** Forgets the texts of plugins that are not in service any more. */
  retain(hashes: ReadonlySet<string>): void {
    for (const hash of this.#texts.keys()) if (!hashes.has(hash)) this.#texts.delete(hash)
  }

  /** Once, and only where there are plugins: from then on every import of the process passes here. */
  #hook(): void {
    if (this.#isHooked) return
    this.#isHooked = true
    registerHooks({
      resolve: (specifier, context, next) => {
        const url = this.#urlOf(specifier, context.parentURL)
        return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true }
      },
      load: (url, context, next) => {
        const source = this.#textOf(url)
        return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
      },
    })
  }

  /** The URL of a module that a plugin is, or imports by a relative path. */
  #urlOf(specifier: string, parent: string | undefined): string | undefined {
    if (this.#textOf(specifier) !== undefined) return specifier
    const mark = parent?.lastIndexOf(MARK) ?? -1
    if (parent === undefined || mark === -1 || !/^\.{0,2}\//.test(specifier)) return undefined
    const url = new URL(specifier, parent).href.replace(/[?#].*$/, '') + parent.slice(mark)
    return this.#textOf(url) === undefined ? undefined : url
  }

  #textOf(url: string): string | undefined {
    const mark = url.lastIndexOf(MARK)
    if (mark === -1 || !url.startsWith('file:')) return undefined
    return this.#texts.get(url.slice(mark + MARK.length))?.get(fileURLToPath(url.slice(0, mark)))
  }
}

/** `<file>:<line>` of the module that an error comes from. */
export function placeOf(error: Error): string | undefined {
  const [, path, line] = /file:\/\/(\/[^\s?]+)\?svc=[0-9a-f]+:(\d+)/.exec(error.stack ?? '') ?? []
  return path === undefined ? undefined : `${decodeURI(path)}:${line}`
}
