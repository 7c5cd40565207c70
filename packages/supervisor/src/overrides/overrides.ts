import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { EnvSources, LoadedConfig, SiteConfig } from '@svc/config'
import { asError, codeOf, Gate, guard, loadRegularFile, messageOf, Pacer } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { Override, ReloadReport } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { previewSite, settingOf, unknownKey } from './override-settings.ts'
import { saveState } from './save-state.ts'
import type { Overridable } from './setting.ts'

/** An override as the file has it: with the value that it stands in for. */
interface Entry extends Omit<Override, 'key'> {
  /** Value in the configuration when the override was made: it ends when the configuration has another one. */
  readonly base?: unknown
}

const entryGuard = guard.recordOf(
  guard.object({ value: guard.anything, base: guard.anything, at: guard.string, username: guard.string }),
)

/** The file of overrides in a state directory. */
function fileIn(stateDir: string): string {
  return join(stateDir, 'overrides.json')
}

/** Thousands of sites have less. */
const MAX_FILE_BYTES = 16 * 1024 * 1024

/** Rejects when the file is missing, too large, or its content is not that of overrides. */
async function readEntries(file: string): Promise<Record<string, Entry>> {
  const { bytes } = await loadRegularFile(file, { maxBytes: MAX_FILE_BYTES })
  return entryGuard(JSON.parse(bytes.toString()), file)
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

/** Dependencies of `Overrides`. */
interface OverridesOptions {
  readonly stateDir: string
  readonly logger: Logger
  readonly now: () => number
  /** Variables of the operating system. */
  readonly variables: EnvSources['variables']
}

/** Changes the configuration in service. The report has the errors when it stays as it is. */
type Change = (edit: <T extends Overridable>(served: T) => Promise<T>) => Promise<ReloadReport>

/** A configuration whose values are overridden. */
type Overridden = Overridable & Pick<LoadedConfig, 'config' | 'secretNames'>

/**
 * Values that were set at run time in place of those in the configuration file. They survive restarts and reloads, and end when the
 * value in the file changes, or by `svc config reset`.
 */
export class Overrides {
  readonly #options: OverridesOptions
  readonly #entries: Map<string, Entry>
  readonly #turn = new Gate(1)
  /** Of the last `apply`. */
  #applied: { readonly sites: Overridable['sites']; readonly ended: ReadonlyMap<string, string> } | undefined
  /** Those of the last configuration. */
  #sources: EnvSources | undefined

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

  /** The value that a key has in place of the one in the configuration; undefined: none. */
  value(key: string): unknown {
    return this.#entries.get(key)?.value
  }

  /** A site as it would be with another value. @throws SUP_OVERRIDE if that is impossible */
  preview(key: string, value: unknown, site: SiteConfig): Promise<SiteConfig> {
    return previewSite(key, value, site, this.#environment)
  }

  /** The value that an override stands in for; undefined: there is none. */
  base(key: string): unknown {
    return this.#entries.get(key)?.base
  }

  /**
   * A configuration with the overrides that hold in it: not one whose value in the configuration has changed, or that is impossible
   * now. Such a one ends when the sites of the result are in service: see `settle`.
   */
  async apply<T extends Overridden>(loaded: T): Promise<T> {
    const sources = this.#sourcesOf(loaded)
    this.#sources = sources
    const { applied, ended } = await this.#applyTo(loaded, sources)
    this.#applied = { sites: applied.sites, ended }
    return applied
  }

  /** A configuration as `apply` would return it, and the overrides that would end. */
  async tryOn<T extends Overridden>(loaded: T): Promise<T & { readonly ending: readonly string[] }> {
    const { applied, ended } = await this.#applyTo(loaded, this.#sourcesOf(loaded))
    return { ...applied, ending: [...ended.keys()] }
  }

  #sourcesOf({ config, secretNames }: Overridden): EnvSources {
    return { config, secretNames, variables: this.#options.variables }
  }

  async #applyTo<T extends Overridden>(loaded: T, sources: EnvSources): Promise<{ applied: T; ended: Map<string, string> }> {
    let applied = { ...loaded, sites: [...loaded.sites] }
    const ended = new Map<string, string>()
    // Rules of the firewall are compiled here.
    const pacer = new Pacer()
    for (const [key, { value, base }] of this.#entries) {
      if (pacer.isDue) await pacer.rest()
      const setting = settingOf(key, loaded)
      if (setting === undefined || !isDeepStrictEqual(setting.value, base)) {
        ended.set(key, 'the value in the configuration has changed')
        continue
      }
      try {
        applied = await setting.write(applied, value, sources)
      } catch (error) {
        ended.set(key, messageOf(error))
      }
    }
    return { applied, ended }
  }

  /** Ends the overrides that did not hold in a configuration, once its sites are in service. After a failed reload they go on. */
  async settle({ sites }: Pick<Overridable, 'sites'>): Promise<void> {
    if (this.#applied?.sites !== sites) return
    const { ended } = this.#applied
    this.#applied = undefined
    for (const [key, reason] of ended) {
      this.#entries.delete(key)
      this.#options.logger.warn({ key, reason }, 'an override has ended')
    }
    if (ended.size > 0) await this.#save()
  }

  /**
   * Sets a value, in the file and then in service; both or none.
   * @throws SUP_UNKNOWN_SITE, UNKNOWN_UPSTREAM, SUP_OVERRIDE with the errors of the change
   */
  set(key: string, value: unknown, username: string, current: Overridable, change: Change): Promise<void> {
    return this.#turn.run(async () => {
      const setting = settingOf(key, current)
      if (setting === undefined) throw unknownKey(key)
      const before = this.#entries.get(key)
      const at = new Date(this.#options.now()).toISOString()
      const base = before === undefined ? setting.value : before.base
      await this.#exchange(key, { value, base, at, username }, before, () => this.#serve(key, value, change))
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
      await this.#exchange(key, undefined, before, () => this.#serve(key, before.base, change))
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
      // The file has the new value if only the change in service failed, or the value before if it could not be written.
      await this.#save().catch((err: unknown) =>
        this.#options.logger.error({ err: asError(err), key }, 'failed to save an override'),
      )
      throw error
    }
  }

  #serve(key: string, value: unknown, change: Change): Promise<ReloadReport> {
    return change(async (served) => (await settingOf(key, served)?.write(served, value, this.#environment)) ?? served)
  }

  get #environment(): EnvSources {
    if (this.#sources === undefined) throw new SupervisorError('SUP_STOPPED', 'no configuration is in service yet')
    return this.#sources
  }

  #put(key: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#entries.delete(key)
    else this.#entries.set(key, entry)
  }

  #save(): Promise<void> {
    return saveState(fileIn(this.#options.stateDir), Object.fromEntries(this.#entries))
  }
}
