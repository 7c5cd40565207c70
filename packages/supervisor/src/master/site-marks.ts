import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Config, SiteConfig } from '@svc/config'
import { Gate, guard, replaceFile } from '@svc/core'
import { type OwnDirectories, snapshotTree } from '@svc/processes'
import { PRODUCT_VERSION } from '@svc/protocol'

/** Sites that are hashed at a time. */
const AT_ONCE = 16
const marksFile = guard.recordOf(guard.string)

/** A site with the environment that its code sees. */
export interface MarkedSite {
  readonly site: SiteConfig
  readonly env: Config['env']
}

/** A changed site. */
export interface ChangedSite {
  readonly site: SiteConfig
  /**
   * `code`: its files or the program that renders them have changed. `settings`: it may be a different site under the same id or
   * label.
   */
  readonly change: 'code' | 'settings'
}

const SEPARATOR = '.'

/** Returns the mark of a site: of its settings, its files and the program that renders it. */
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
    // Missing or not ours: no site is known.
    return new Map()
  }
}

/**
 * Stores, over restarts, the state of each site for which its stored pages are valid. Lies beside the store: neither is of use
 * without the other.
 */
export class SiteMarks {
  readonly #file: string
  readonly #own: OwnDirectories
  readonly #marks: Map<string, string>
  readonly #turn = new Gate(1)

  private constructor(file: string, own: OwnDirectories, marks: Map<string, string>) {
    this.#file = file
    this.#own = own
    this.#marks = marks
  }

  /** @param own directories that the service writes to: they are no part of a site */
  static async open(file: string, own: OwnDirectories): Promise<SiteMarks> {
    return new SiteMarks(file, own, await readMarks(file))
  }

  /** Records the current state of the sites. Resolves with the changed and the unknown ones. */
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

  /** True if a site has changed since its last record, or has none. */
  async isChanged(site: MarkedSite): Promise<boolean> {
    return this.#marks.get(site.site.id) !== (await markOf(site, this.#own))
  }

  /** Returns the current state of a site, for `note` once the store holds no entries of earlier states. */
  look(site: MarkedSite): Promise<string> {
    return markOf(site, this.#own)
  }

  /** Records a state that `look` returned. */
  note({ site }: MarkedSite, mark: string): void {
    this.#marks.set(site.id, mark)
  }

  /** Forgets all sites but these. */
  retain(sites: readonly SiteConfig[]): void {
    const ids = new Set(sites.map(({ id }) => id))
    for (const id of this.#marks.keys()) if (!ids.has(id)) this.#marks.delete(id)
  }

  /** Saves the marks atomically, one write at a time. */
  save(): Promise<void> {
    return this.#turn.run(() => replaceFile(this.#file, JSON.stringify(Object.fromEntries(this.#marks))))
  }
}
