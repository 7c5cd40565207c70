import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type EnvSources, type LoadedConfig, moveSite, type SiteConfig } from '@svc/config'
import { asError, codeOf, deepFreeze, Gate, guard, messageOf, replaceFile } from '@svc/core'
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

/** Rejects when the file is missing, or its content is not that of overrides. */
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

/** A setting of a site that can be overridden. */
interface SiteSetting {
  /** Its value in a site, as it is compared and restored. */
  read(site: SiteConfig): unknown
  /** The site with another value. @throws SUP_OVERRIDE if that is impossible */
  write(site: SiteConfig, value: unknown, sources: EnvSources): SiteConfig | Promise<SiteConfig>
}

/** The value of `sites.<id>.release`: a site is at the root of a release. */
export const releaseValue = guard.object({ root: guard.string, id: guard.optional(guard.string) })

/** The settings that can be overridden, by the last part of `sites.<id>.<name>`. */
const siteSettings: Readonly<Record<string, SiteSetting>> = {
  maintenance: {
    read: ({ maintenance }) => maintenance,
    write: (site, value) => ({ ...site, maintenance: value as SiteConfig['maintenance'] }),
  },
  release: {
    read: ({ root }) => ({ root }),
    async write(site, value, sources) {
      const moved = await moveSite(site, releaseValue(value, 'release').root, sources)
      if ('message' in moved)
        throw new SupervisorError('SUP_OVERRIDE', `a release of ${site.id} cannot be served: ${moved.message}`)
      return moved
    },
  },
}

/** The site and the setting of a key; undefined: no value of this key can be overridden. */
function targetOf(key: string): { readonly id: string; readonly setting: SiteSetting } | undefined {
  const [, id, name = ''] = /^sites\.(.+)\.([a-z]+)$/.exec(key) ?? []
  const setting = Object.hasOwn(siteSettings, name) ? siteSettings[name] : undefined
  return id === undefined || setting === undefined ? undefined : { id, setting }
}

async function withValue(sites: Sites, key: string, value: unknown, sources: EnvSources): Promise<Sites> {
  const target = targetOf(key)
  const change = (site: SiteConfig) => target?.setting.write(site, value, sources) ?? site
  return await Promise.all(sites.map(async (site) => (site.id === target?.id ? deepFreeze(await change(site)) : site)))
}

/** Dependencies of `Overrides`. */
interface OverridesOptions {
  readonly stateDir: string
  readonly logger: Logger
  readonly now: () => number
  /** Variables of the operating system. */
  readonly variables: EnvSources['variables']
}

/** Changes the sites in service. The report has the errors when they stay as they are. */
type Change = (edit: (sites: Sites) => Promise<Sites>) => Promise<ReloadReport>

/** A configuration whose values are overridden. */
type Overridden = Pick<LoadedConfig, 'config' | 'sites' | 'secretNames'>

/**
 * Values that were set at run time in place of those in the configuration file. They survive restarts and reloads, and end when the
 * value in the file changes, or by `svc config reset`.
 */
export class Overrides {
  readonly #options: OverridesOptions
  readonly #entries: Map<string, Entry>
  readonly #turn = new Gate(1)
  /** Of the last `apply`. */
  #applied: { readonly sites: Sites; readonly ended: ReadonlyMap<string, string> } | undefined
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
  async preview(key: string, value: unknown, site: SiteConfig): Promise<SiteConfig> {
    return (await targetOf(key)?.setting.write(site, value, this.#environment)) ?? site
  }

  /** The value that an override stands in for; undefined: there is none. */
  base(key: string): unknown {
    return this.#entries.get(key)?.base
  }

  /**
   * The sites of a configuration with the overrides that hold in it: not one whose value in the configuration has changed, or that is
   * impossible now. Such a one ends when these sites are in service: see `settle`.
   */
  async apply({ sites, config, secretNames }: Overridden): Promise<Sites> {
    const sources = { config, secretNames, variables: this.#options.variables }
    this.#sources = sources
    let applied = sites
    const ended = new Map<string, string>()
    for (const [key, { value, base }] of this.#entries) {
      const target = targetOf(key)
      const site = sites.find(({ id }) => id === target?.id)
      if (site === undefined || !isDeepStrictEqual(target?.setting.read(site), base)) {
        ended.set(key, 'the value in the configuration has changed')
        continue
      }
      try {
        applied = await withValue(applied, key, value, sources)
      } catch (error) {
        ended.set(key, messageOf(error))
      }
    }
    this.#applied = { sites: applied, ended }
    return applied
  }

  /** Ends the overrides that did not hold in a configuration, once its sites are in service. After a failed reload they go on. */
  async settle(sites: Sites): Promise<void> {
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
   * @throws SUP_UNKNOWN_SITE, SUP_OVERRIDE with the errors of the change
   */
  set(key: string, value: unknown, username: string, current: Sites, change: Change): Promise<void> {
    return this.#turn.run(async () => {
      const target = targetOf(key)
      const site = current.find(({ id }) => id === target?.id)
      if (target === undefined || site === undefined) {
        throw new SupervisorError('SUP_UNKNOWN_SITE', `there is no site ${target?.id ?? key}`)
      }
      const before = this.#entries.get(key)
      const at = new Date(this.#options.now()).toISOString()
      const base = before === undefined ? target.setting.read(site) : before.base
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
      await this.#save()
      throw error
    }
  }

  #serve(key: string, value: unknown, change: Change): Promise<ReloadReport> {
    return change((sites) => withValue(sites, key, value, this.#environment))
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
    return replaceFile(fileIn(this.#options.stateDir), `${JSON.stringify(Object.fromEntries(this.#entries), null, 2)}\n`, true)
  }
}
