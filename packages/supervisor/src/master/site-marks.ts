import { createHash } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import type { Config, SiteConfig } from '@svc/config'
import { guard } from '@svc/core'
import { type OwnDirectories, snapshotTree } from '@svc/processes'
import { PRODUCT_VERSION } from '@svc/protocol'

const PRIVATE = 0o600
/** Sites that are looked at together. */
const AT_ONCE = 16
const marksFile = guard.recordOf(guard.string)

/** A site with what its code sees of the configuration. */
export interface MarkedSite {
  readonly site: SiteConfig
  readonly env: Config['env']
}

/** A site that is not as it was. */
export interface ChangedSite {
  readonly site: SiteConfig
  /**
   * `code`: its files are others, or the program that renders them. `settings`: it may be another site altogether that has its
   * id or its label now.
   */
  readonly change: 'code' | 'settings'
}

const SEPARATOR = '.'

/** In which state a site is: its settings; its files and the program that renders it. */
async function markOf({ site, env }: MarkedSite, own: OwnDirectories): Promise<string> {
  const { files } = await snapshotTree(site.root, own)
  const settings = createHash('sha256').update(JSON.stringify([site, env]))
  const code = createHash('sha256').update(PRODUCT_VERSION)
  for (const [path, state] of [...files].toSorted(([left], [right]) => (left < right ? -1 : 1))) code.update(`\n${path} ${state}`)
  return settings.digest('base64url') + SEPARATOR + code.digest('base64url')
}

function changeOf(before: string | undefined, mark: string): ChangedSite['change'] {
  return before?.split(SEPARATOR)[0] === mark.split(SEPARATOR)[0] ? 'code' : 'settings'
}

async function readMarks(file: string): Promise<Map<string, string>> {
  try {
    return new Map(Object.entries(marksFile(JSON.parse(await readFile(file, 'utf8')), file)))
  } catch {
    // None yet, or not ours: nothing is known of any site.
    return new Map()
  }
}

/**
 * Remembers, over restarts, in which state each site was when its stored pages were last known to be right. Kept beside the
 * store: without one the other says nothing.
 */
export class SiteMarks {
  readonly #file: string
  readonly #own: OwnDirectories
  readonly #marks: Map<string, string>
  #writing: Promise<void> = Promise.resolve()

  private constructor(file: string, own: OwnDirectories, marks: Map<string, string>) {
    this.#file = file
    this.#own = own
    this.#marks = marks
  }

  /** @param own where the service writes: nothing of that is part of a site */
  static async open(file: string, own: OwnDirectories): Promise<SiteMarks> {
    return new SiteMarks(file, own, await readMarks(file))
  }

  /** Takes in how the sites are now. Resolves with those that are not as they were, or of which nothing was known. */
  async update(sites: readonly MarkedSite[]): Promise<ChangedSite[]> {
    const changed: ChangedSite[] = []
    for (let at = 0; at < sites.length; at += AT_ONCE) {
      const looks = sites
        .slice(at, at + AT_ONCE)
        .map(async (marked) => ({ site: marked.site, mark: await markOf(marked, this.#own) }))
      for (const { site, mark } of await Promise.all(looks)) {
        const before = this.#marks.get(site.id)
        if (before === mark) continue
        this.#marks.set(site.id, mark)
        changed.push({ site, change: changeOf(before, mark) })
      }
    }
    return changed
  }

  /** Whether a site is not as it was when it was last taken in, or was never. */
  async isChanged(site: MarkedSite): Promise<boolean> {
    return this.#marks.get(site.site.id) !== (await markOf(site, this.#own))
  }

  /** In which state a site is now, to be noted once what was made of an earlier one is gone. */
  look(site: MarkedSite): Promise<string> {
    return markOf(site, this.#own)
  }

  /** Takes in a state that was looked at before. */
  note({ site }: MarkedSite, mark: string): void {
    this.#marks.set(site.id, mark)
  }

  /** Forgets all sites but these. */
  retain(sites: readonly SiteConfig[]): void {
    const ids = new Set(sites.map(({ id }) => id))
    for (const id of this.#marks.keys()) if (!ids.has(id)) this.#marks.delete(id)
  }

  /** Writes the marks down, in one step and one write at a time. */
  save(): Promise<void> {
    this.#writing = this.#writing.then(
      () => this.#write(),
      () => this.#write(),
    )
    return this.#writing
  }

  async #write(): Promise<void> {
    const temporary = `${this.#file}.new`
    await writeFile(temporary, JSON.stringify(Object.fromEntries(this.#marks)), { mode: PRIVATE })
    await rename(temporary, this.#file)
  }
}
