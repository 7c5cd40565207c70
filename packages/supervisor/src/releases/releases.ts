import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config, SiteConfig } from '@svc/config'
import { asError, codeOf, messageOf } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { DeployOrder, GenerationSpec, Release, RollbackOrder, SiteRelease, SiteSurvey } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { releaseValue } from '../overrides/override-settings.ts'
import type { Overrides } from '../overrides/overrides.ts'
import type { Reloader } from '../reload/reloader.ts'
import { deployableSite, siteOf } from './deployable-site.ts'
import { directoryName } from './incoming.ts'
import type { ReleaseRecord, ReleaseRecords } from './release-records.ts'
import { findSource, type ReleaseSource } from './release-source.ts'
import type { Unpacking } from './unpack/unpacking.ts'

/** Releases that are listed: a few thousand sites have more together. */
const MAX_LISTED = 1_000
/** Id of the release that the configuration names. */
const CONFIGURED = 'configured'

/** Dependencies of `Releases`. */
interface ReleasesOptions {
  readonly records: ReleaseRecords
  readonly unpacking: Unpacking
  readonly overrides: Overrides
  readonly reloader: Pick<Reloader, 'change'>
  readonly spec: () => Pick<GenerationSpec, 'sites' | 'web'> & {
    readonly config: Pick<Config, 'server' | 'deploy' | 'tasks' | 'waf'>
  }
  /** Scans, compiles and warms a site that is not in service, in every host that will render it. */
  readonly tryOut: (site: SiteConfig) => Promise<SiteSurvey>
  readonly now: () => number
  readonly logger: Logger
}

function keyOf(site: string): string {
  return `sites.${site}.release`
}

function releaseIn(overrides: Overrides, key: string): ReturnType<typeof releaseValue> | undefined {
  const value = key.endsWith('.release') ? overrides.value(key) : undefined
  return value === undefined ? undefined : releaseValue(value, key)
}

/** The names in a directory; none if it cannot be read. */
function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => [])
}

function newId(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}-${randomBytes(3).toString('hex')}`
}

/** Serves sites from releases: each is prepared beside the one in service, and takes its place in all workers at once. */
export class Releases {
  readonly #options: ReleasesOptions
  /** Sites with a deployment in progress. */
  readonly #busy = new Set<string>()

  constructor(options: ReleasesOptions) {
    this.#options = options
  }

  /** The last releases of sites, the latest first. @throws SUP_UNKNOWN_SITE */
  list(sites: readonly string[]): SiteRelease[] {
    const all = sites.flatMap((site) => {
      this.#site(site)
      const live = this.#live(site)
      return this.#records(site)
        .toReversed()
        .map((record) => ({ site, release: releaseOf(record, live) }))
    })
    all.sort(
      ({ release: one }, { release: other }) =>
        Number(one.created_at < other.created_at) - Number(one.created_at > other.created_at),
    )
    return all.slice(0, MAX_LISTED)
  }

  /**
   * Serves a site from a source. On any error the release in service stays.
   * @throws SUP_UNKNOWN_SITE, DEPLOY_RUNNING, DEPLOY_UNSUPPORTED, SOURCE_NOT_ALLOWED, SOURCE_INVALID, DEPLOY_FAILED
   */
  deploy({ site, source, username, tenant }: DeployOrder): Promise<Release> {
    return this.#alone(site, async () => {
      const { spec, records, now } = this.#options
      const found = await findSource(spec().config, source, tenant)
      const id = newId(now())
      const from = await this.#rootFor(site, id, found).finally(() => found.handle.close())
      if (records.of(site).length === 0) await records.put(site, this.#configured(site))
      const plain = { id, created_at: new Date(now()).toISOString(), source, has_failed: false, previous: this.#live(site) }
      return await this.#serve(site, { ...plain, ...from }, username)
    })
  }

  /**
   * Goes back to a release of a site. On any error the release in service stays.
   * @throws SUP_UNKNOWN_SITE, DEPLOY_RUNNING, DEPLOY_UNSUPPORTED, UNKNOWN_RELEASE, DEPLOY_FAILED
   */
  rollback({ site, release, username }: RollbackOrder): Promise<Release> {
    return this.#alone(site, async () => {
      const records = this.#records(site)
      const live = this.#live(site)
      const id = release ?? records.find((record) => record.id === live)?.previous
      const target = records.find((record) => record.id === id)
      if (target === undefined) {
        const why = release === undefined ? 'has no release before the live one' : `has no release "${release}"`
        throw new SupervisorError('UNKNOWN_RELEASE', `${site} ${why}`)
      }
      if (target.has_failed) throw new SupervisorError('DEPLOY_FAILED', `the release ${target.id} has failed: deploy it again`)
      return target.id === live ? releaseOf(target, live) : await this.#serve(site, target, username)
    })
  }

  /** Deletes directories of releases that a crash has left behind. Resolves when they are known. */
  async tidy(): Promise<void> {
    const { records, overrides } = this.#options
    if (!records.isComplete) return
    const live = overrides.list().map(({ key }) => releaseIn(overrides, key)?.root)
    const known = new Set([...records.unpacked, ...live])
    const left: string[] = []
    for (const site of await namesIn(this.#directory)) {
      const dir = join(this.#directory, site)
      for (const name of await namesIn(dir)) if (!known.has(join(dir, name))) left.push(join(dir, name))
    }
    void this.#remove(left)
  }

  get #directory(): string {
    return join(this.#options.spec().config.server.state_dir, 'releases')
  }

  /**
   * The directory to serve a source from. An archive is unpacked, and a directory that others than the operator may change is copied;
   * nothing is left of one that is refused.
   * @throws SOURCE_INVALID
   */
  async #rootFor(
    site: string,
    id: string,
    source: ReleaseSource,
  ): Promise<Pick<ReleaseRecord, 'root' | 'is_unpacked' | 'sha256'>> {
    if (source.kind === 'directory' && source.isInPlace) return { root: source.path, is_unpacked: false }
    const { unpacking, spec } = this.#options
    const root = join(this.#directory, directoryName(site), id)
    await mkdir(dirname(root), { recursive: true, mode: 0o700 })
    try {
      const sha256 = await unpacking.unpack({ source, directory: root, maxBytes: spec().config.deploy.max_bytes })
      return { root, is_unpacked: true, sha256 }
    } catch (error) {
      await this.#remove([root])
      throw error
    }
  }

  /** Never rejects. */
  async #remove(directories: readonly string[]): Promise<void> {
    for (const directory of directories) {
      await rm(directory, { recursive: true, force: true }).catch((error) => {
        this.#options.logger.warn({ directory, err: asError(error) }, 'failed to delete the directory of a release')
      })
    }
  }

  async #alone<T>(id: string, task: () => Promise<T>): Promise<T> {
    deployableSite(this.#options.spec().sites, id)
    if (this.#busy.has(id)) throw new SupervisorError('DEPLOY_RUNNING', { site: id })
    this.#busy.add(id)
    try {
      return await task()
    } finally {
      this.#busy.delete(id)
    }
  }

  /** Prepares a release and puts it into service. */
  async #serve(site: string, record: ReleaseRecord, username: string): Promise<Release> {
    const { records, logger } = this.#options
    try {
      const notices = await this.#prepare(site, record.root)
      // A process that is killed from here on leaves a record of a release that is not live.
      if (record.id !== CONFIGURED) await records.put(site, record)
      await this.#swap(site, record, username)
      logger.info({ site, release: record.id, root: record.root, username, notices }, 'a release is in service')
    } catch (thrown) {
      const error = codeOf(thrown) === 'DEPLOY_FAILED' ? thrown : failed(site, messageOf(thrown), [messageOf(thrown)], thrown)
      const isNew = !records.of(site).some(({ id, has_failed: hasFailed }) => id === record.id && !hasFailed)
      logger.error(
        { site, release: record.id, root: record.root, username, err: error },
        'a release could not be put into service',
      )
      if (isNew) {
        await records.put(site, { ...record, has_failed: true, is_unpacked: false })
        if (record.is_unpacked) await this.#remove([record.root])
      }
      throw error
    } finally {
      await this.#prune(site)
    }
    return releaseOf(record, record.id)
  }

  /** Resolves with the number of warnings. @throws DEPLOY_FAILED with all errors */
  async #prepare(id: string, root: string): Promise<number> {
    const { overrides, tryOut } = this.#options
    const site = await overrides.preview(keyOf(id), { root }, this.#site(id))
    const { problems, routes } = await tryOut(site)
    const errors = problems.filter(({ severity }) => severity === 'error').map(({ text }) => text)
    if (errors.length > 0) throw failed(id, `${errors.length} errors in ${root}`, errors)
    const isEmpty = routes.length === 0 && !(await stat(site.public).catch(() => undefined))?.isDirectory()
    if (isEmpty) throw failed(id, `${root} has neither routes nor static files`, [`neither routes nor static files: ${root}`])
    return problems.length
  }

  async #swap(site: string, { id, root }: ReleaseRecord, username: string): Promise<void> {
    const { overrides, reloader, spec } = this.#options
    const change = reloader.change.bind(reloader)
    if (id === CONFIGURED) await overrides.reset(keyOf(site), change)
    else await overrides.set(keyOf(site), { id, root }, username, spec(), change)
  }

  async #prune(site: string): Promise<void> {
    const { records } = this.#options
    const live = this.#live(site)
    const previous = records.of(site).find(({ id }) => id === live)?.previous
    void this.#remove(await records.prune(site, [live, previous, CONFIGURED]))
  }

  /** The records of a site. The configuration may name another root by now than when it was recorded. */
  #records(site: string): ReleaseRecord[] {
    const { root } = this.#configured(site)
    const named = (record: ReleaseRecord) => (record.id === CONFIGURED ? { ...record, root, source: root } : record)
    return this.#options.records.of(site).map(named)
  }

  #configured(id: string): ReleaseRecord {
    const { overrides, now } = this.#options
    const base = overrides.base(keyOf(id))
    const root = base === undefined ? this.#site(id).root : releaseValue(base, 'root').root
    const created_at = new Date(now()).toISOString()
    return { id: CONFIGURED, created_at, source: root, root, has_failed: false, is_unpacked: false }
  }

  /** The id of the release in service. */
  #live(site: string): string {
    return releaseIn(this.#options.overrides, keyOf(site))?.id ?? CONFIGURED
  }

  #site(id: string): SiteConfig {
    return siteOf(this.#options.spec().sites, id)
  }
}

function releaseOf(record: ReleaseRecord, live: string): Release {
  const { id, created_at, source, sha256, has_failed: hasFailed } = record
  const isLive = id === live
  return { id, created_at, source, sha256, state: hasFailed ? 'failed' : isLive ? 'ready' : 'retired', live: isLive }
}

function failed(site: string, why: string, errors: readonly string[], cause?: unknown): Error {
  return new SupervisorError('DEPLOY_FAILED', `the release of ${site} is not in service, the one before stays: ${why}`, {
    data: { errors },
    cause,
  })
}
