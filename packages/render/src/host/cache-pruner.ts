import { mkdir, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { type PruneReport, pruneCache } from '@svc/compile/caches'
import type { Logger } from '@svc/telemetry'
import type { SiteSpec } from './site-runtime.ts'

/** First run: late enough to leave start-up alone. */
const FIRST_MS = 300_000
const EVERY_MS = 24 * 3_600_000
/** In the directory of the index: touched by each run, so that of several hosts one does it. */
const MARK = '.pruned'

/** Options of a `CachePruner`. */
interface CachePrunerOptions {
  readonly specs: () => readonly SiteSpec[]
  readonly log: () => Logger
}

/** Deletes compiled modules that no site uses any more from the caches, once a day. */
export class CachePruner {
  readonly #options: CachePrunerOptions
  #timer: NodeJS.Timeout | undefined

  constructor(options: CachePrunerOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer ??= setTimeout(() => this.#due(), FIRST_MS).unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /**
   * Prunes at once, unless that was done lately by this process or another.
   * @returns undefined when it was
   */
  async prune(now = Date.now()): Promise<PruneReport | undefined> {
    const specs = this.#options.specs()
    const dirs = specs[0]?.thread.cacheDirs
    if (dirs === undefined || !(await takeTurn(join(dirs.index, MARK), now))) return undefined
    // Packages of a site may lie beside it, in a directory above.
    const bases = specs.flatMap(({ config }) => [config.root + sep, ...packageDirsAbove(config.root)])
    return await pruneCache({ dirs, now, isUsed: (path) => bases.some((base) => path.startsWith(base)) })
  }

  #due(): void {
    this.#timer = setTimeout(() => this.#due(), EVERY_MS).unref()
    this.prune().then(
      (report) => {
        if (report !== undefined && report.removed > 0) this.#options.log().info(report, 'deleted unused compiled modules')
      },
      (error) => this.#options.log().warn({ err: error }, 'failed to prune the caches of compiled modules'),
    )
  }
}

function packageDirsAbove(root: string): string[] {
  const found: string[] = []
  for (let dir = dirname(root); dir !== dirname(dir); dir = dirname(dir)) found.push(join(dir, 'node_modules') + sep)
  return found
}

/** Claims the next run; false if the last one was too recent. */
async function takeTurn(mark: string, now: number): Promise<boolean> {
  const last = await stat(mark).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.NEGATIVE_INFINITY,
  )
  if (now - last < EVERY_MS - FIRST_MS) return false
  await mkdir(dirname(mark), { recursive: true, mode: 0o700 })
  await writeFile(mark, '', { mode: 0o600 })
  await utimes(mark, now / 1000, now / 1000)
  return true
}
