import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { asError, codeOf, type Guarded, guard, loadRegularFile } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { saveState } from '../overrides/save-state.ts'

/** Most releases of a site on record. */
const MAX_RECORDS = 20
/** Thousands of sites have less. */
const MAX_FILE_BYTES = 64 * 1024 * 1024
/** Most unpacked releases of a site on disk. */
const MAX_UNPACKED = 5

/** A release as the file has it. */
const releaseRecord = guard.object({
  id: guard.string,
  created_at: guard.string,
  source: guard.string,
  sha256: guard.optional(guard.string),
  /** Absolute path of the directory that the site is served from. */
  root: guard.string,
  has_failed: guard.boolean,
  /** The root was unpacked from an archive, and is deleted with this record. */
  is_unpacked: guard.boolean,
  /** Id of the release that it took the place of. */
  previous: guard.optional(guard.string),
})
export type ReleaseRecord = Guarded<typeof releaseRecord>
const recordsFile = guard.recordOf(guard.arrayOf(releaseRecord))

/** The releases of all sites in `<state_dir>/releases.json`, oldest first; a bounded number for each site. */
export class ReleaseRecords {
  readonly #file: string
  readonly #sites: Map<string, ReleaseRecord[]>
  /** False if the file was unreadable: directories that seem to belong to no release may belong to one. */
  readonly isComplete: boolean

  private constructor(file: string, sites: Map<string, ReleaseRecord[]>, isComplete = true) {
    this.#file = file
    this.#sites = sites
    this.isComplete = isComplete
  }

  /** Reads the file. One that cannot be read is kept aside. */
  static async open(stateDir: string, logger: Logger): Promise<ReleaseRecords> {
    const file = join(stateDir, 'releases.json')
    try {
      const { bytes } = await loadRegularFile(file, { maxBytes: MAX_FILE_BYTES })
      const sites = recordsFile(JSON.parse(bytes.toString()), file)
      return new ReleaseRecords(file, new Map(Object.entries(sites).map(([site, records]) => [site, [...records]])))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return new ReleaseRecords(file, new Map())
      logger.error({ err: asError(error), file, kept: `${file}.damaged` }, 'the records of releases are unreadable')
      await rename(file, `${file}.damaged`)
      return new ReleaseRecords(file, new Map(), false)
    }
  }

  of(site: string): readonly ReleaseRecord[] {
    return this.#sites.get(site) ?? []
  }

  /** The directories that were unpacked. */
  get unpacked(): string[] {
    return [...this.#sites.values()].flat().flatMap(({ root, is_unpacked: isUnpacked }) => (isUnpacked ? [root] : []))
  }

  /** Adds a release, or replaces the one of its id. Resolves when that outlives this process. @throws SUP_STATE: nothing has changed */
  async put(site: string, record: ReleaseRecord): Promise<void> {
    const before = this.of(site)
    const others = before.filter(({ id }) => id !== record.id)
    const at = before.findIndex(({ id }) => id === record.id)
    this.#sites.set(site, at === -1 ? [...before, record] : others.toSpliced(at, 0, record))
    try {
      await this.#save()
    } catch (error) {
      this.#sites.set(site, [...before])
      throw error
    }
  }

  /**
   * Forgets the oldest releases of a site past the bounds. Resolves with the directories to delete.
   * @param kept ids of releases that stay
   */
  async prune(site: string, kept: readonly (string | undefined)[]): Promise<string[]> {
    const records = [...this.of(site)]
    const dropped: ReleaseRecord[] = []
    const drop = (isMeant: (record: ReleaseRecord) => boolean, max: number) => {
      const meant = records.filter(isMeant)
      const free = meant.filter(({ id }) => !kept.includes(id)).slice(0, Math.max(0, meant.length - max))
      for (const record of free) dropped.push(...records.splice(records.indexOf(record), 1))
    }
    drop(({ is_unpacked: isUnpacked }) => isUnpacked, MAX_UNPACKED)
    drop(() => true, MAX_RECORDS)
    if (dropped.length === 0) return []
    this.#sites.set(site, records)
    await this.#save()
    return dropped.flatMap(({ root, is_unpacked: isUnpacked }) => (isUnpacked ? [root] : []))
  }

  #save(): Promise<void> {
    return saveState(this.#file, Object.fromEntries(this.#sites))
  }
}
