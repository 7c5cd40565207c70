import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { SiteConfig } from '@svc/config'
import { asError, codeOf, Gate, guard, replaceFile } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { Override, ReloadReport } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** An override as the file has it: with the value that it stands in for. */
interface Entry extends Omit<Override, 'key'> {
  /** Value in the configuration when the override was made: it ends when the configuration has another one. */
  readonly base?: unknown
}

type Sites = readonly SiteConfig[]

const entryGuard = guard.recordOf(
  guard.object({ value: guard.anything, base: guard.anything, at: guard.string, username: guard.string }),
)

/** The file of overrides in a state directory. */
function fileIn(stateDir: string): string {
  return join(stateDir, 'overrides.json')
}

/** Rejects when the file is missing, or no such file. */
async function readEntries(file: string): Promise<Record<string, Entry>> {
  return entryGuard(JSON.parse(await readFile(file, 'utf8')), file)
}

function listOf(entries: Iterable<[string, Entry]>): Override[] {
  return Array.from(entries, ([key, { value, at, username }]) => ({ key, value, at, username }))
}

/** The overrides of an instance, whether it runs or not; none if there is no file. Rejects if the file is unreadable. */
export async function readOverrides(stateDir: string): Promise<Override[]> {
  try {
    return listOf(Object.entries(await readEntries(fileIn(stateDir))))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** The site whose key is overridden; undefined: no value of this key can be overridden. */
function siteIn(key: string): string | undefined {
  return /^sites\.([^.]+)\.maintenance$/.exec(key)?.[1]
}

function withValue(sites: Sites, key: string, value: unknown): Sites {
  const id = siteIn(key)
  return sites.map((site) =>
    site.id === id ? Object.freeze({ ...site, maintenance: value as SiteConfig['maintenance'] }) : site,
  )
}

/** Dependencies of `Overrides`. */
interface OverridesOptions {
  readonly stateDir: string
  readonly logger: Logger
  readonly now: () => number
}

/** Changes the sites in service. The report has the errors when they stay as they are. */
type Change = (edit: (sites: Sites) => Sites) => Promise<ReloadReport>

/**
 * Values that were set at run time in place of those in the configuration file. They survive restarts and reloads, and end when the
 * value in the file changes, or by `svc config reset`.
 */
export class Overrides {
  readonly #options: OverridesOptions
  readonly #entries: Map<string, Entry>
  readonly #turn = new Gate(1)

  private constructor(options: OverridesOptions, entries: Map<string, Entry>) {
    this.#options = options
    this.#entries = entries
  }

  /** Reads the file. One that cannot be read is kept aside: the configuration holds without it. */
  static async open(options: OverridesOptions): Promise<Overrides> {
    const { logger } = options
    const file = fileIn(options.stateDir)
    try {
      return new Overrides(options, new Map(Object.entries(await readEntries(file))))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return new Overrides(options, new Map())
      logger.error({ err: asError(error), file, kept: `${file}.damaged` }, 'overrides are unreadable: the configuration holds')
      await rename(file, `${file}.damaged`)
      return new Overrides(options, new Map())
    }
  }

  /** The overrides in force. */
  list(): Override[] {
    return listOf(this.#entries)
  }

  /** The sites of a configuration with the overrides; one whose value in the configuration has changed ends. */
  async apply(sites: Sites): Promise<Sites> {
    let applied = sites
    const ended: string[] = []
    for (const [key, { value, base }] of this.#entries) {
      const site = sites.find(({ id }) => id === siteIn(key))
      if (site !== undefined && isDeepStrictEqual(site.maintenance, base)) applied = withValue(applied, key, value)
      else ended.push(key)
    }
    for (const key of ended) {
      this.#entries.delete(key)
      this.#options.logger.warn({ key }, 'an override has ended: the value in the configuration has changed')
    }
    if (ended.length > 0) await this.#save()
    return applied
  }

  /**
   * Sets a value, in the file and then in service; both or none.
   * @throws SUP_UNKNOWN_SITE, SUP_OVERRIDE with the errors of the change
   */
  set(key: string, value: unknown, username: string, current: Sites, change: Change): Promise<void> {
    return this.#turn.run(async () => {
      const site = current.find(({ id }) => id === siteIn(key))
      if (site === undefined) throw new SupervisorError('SUP_UNKNOWN_SITE', `there is no site ${siteIn(key) ?? key}`)
      const before = this.#entries.get(key)
      const at = new Date(this.#options.now()).toISOString()
      const base = before === undefined ? site.maintenance : before.base
      await this.#exchange(key, { value, base, at, username }, before, () => change((sites) => withValue(sites, key, value)))
    })
  }

  /**
   * Ends an override: the value of the configuration holds again.
   * @throws SUP_NO_OVERRIDE, SUP_OVERRIDE with the errors of the change
   */
  reset(key: string, change: Change): Promise<void> {
    return this.#turn.run(async () => {
      const before = this.#entries.get(key)
      if (before === undefined) {
        const known = [...this.#entries.keys()]
        const hint = known.length === 0 ? 'nothing is overridden' : `overridden: ${known.join(', ')}`
        throw new SupervisorError('SUP_NO_OVERRIDE', `${key} is not overridden; ${hint}`)
      }
      await this.#exchange(key, undefined, before, () => change((sites) => withValue(sites, key, before.base)))
    })
  }

  async #exchange(
    key: string,
    next: Entry | undefined,
    before: Entry | undefined,
    serve: () => Promise<ReloadReport>,
  ): Promise<void> {
    this.#put(key, next)
    try {
      await this.#save()
      const { ok, errors } = await serve()
      if (!ok) throw new SupervisorError('SUP_OVERRIDE', `the change of ${key} failed: ${errors.join('; ')}`)
    } catch (error) {
      this.#put(key, before)
      await this.#save()
      throw error
    }
  }

  #put(key: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#entries.delete(key)
    else this.#entries.set(key, entry)
  }

  #save(): Promise<void> {
    return replaceFile(fileIn(this.#options.stateDir), `${JSON.stringify(Object.fromEntries(this.#entries), null, 2)}\n`, true)
  }
}
