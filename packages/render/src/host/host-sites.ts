import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { SiteConfig } from '@svc/config'
import { Gate } from '@svc/core'
import type { HostSpec, SiteSurvey } from '@svc/protocol'
import type { ThreadBase } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import type { EgressRules } from '../thread/egress/address-policy.ts'
import { type SiteDependencies, SiteRuntime, type SiteSpec } from './site-runtime.ts'
import type { SpareThread } from './spare-thread.ts'
import type { ThreadBudget } from './thread-budget.ts'

/** A site that was tried out is dropped when no generation has taken it over until then. */
const CANDIDATE_MS = 120_000

function rulesFor(site: SiteConfig, { listen }: HostSpec): EgressRules {
  return {
    allow: site.fetch_allow,
    allowLocal: site.fetch_allow_local,
    own: listen.flatMap(({ host, port, socket }) =>
      socket === undefined ? [{ address: host.replace(/^\[|\]$/g, ''), port }] : [],
    ),
  }
}

/** Scheme and host for the pages of the site that is tried out. */
function originOf([site]: readonly SiteConfig[]): string {
  return `http://${site?.hostnames?.find((name) => !name.includes('*') && !name.startsWith('.')) ?? 'localhost'}`
}

/** Settings that the threads of all sites of a generation share. */
function threadBase({ config: { render } }: HostSpec, guestDir: string): ThreadBase {
  return { guestDir, timeoutMs: render.timeout_ms, memoryLimitMb: render.memory_limit_mb }
}

/** Derives from a generation how each of its sites is run, by site id. */
function siteSpecs(generation: HostSpec, guestDir: string): Map<string, SiteSpec> {
  const { render, cache, scaling } = generation.config
  const cacheDirs = {
    modules: generation.moduleDir,
    index: join(cache.dir, 'compile'),
    bytecode: join(cache.dir, 'bytecode'),
  }
  const limits = {
    maxThreads: render.workers === 0 ? availableParallelism() : render.workers,
    concurrency: render.concurrency,
    queueMax: render.queue_max,
    idleMs: render.idle_secs * 1000,
  }
  const apps = generation.sites.filter((site) => site.has_app !== false)
  const specs = apps.map((site): [string, SiteSpec] => [
    site.id,
    {
      config: { id: site.id, root: site.root, public: site.public },
      limits,
      served: { id: site.id, label: site.label, timeoutMs: render.timeout_ms, swrMs: cache.isr.default_swr_ms },
      thread: {
        site: site.id,
        root: site.root,
        mode: site.mode,
        env: site.env,
        rules: rulesFor(site, generation),
        loopMark: { instanceId: scaling.instance_id, token: generation.loopToken },
        cacheDirs,
        ...threadBase(generation, guestDir),
      },
    },
  ])
  return new Map(specs)
}

/** Options of `HostSites`. */
interface HostSitesOptions {
  readonly threads: SpareThread
  readonly scanner: SiteDependencies['scanner']
  readonly guestDir: string
  readonly budget: ThreadBudget
  readonly eventsFor: (site: string) => SiteDependencies['events']
  readonly serve: SiteDependencies['serve']
  readonly onRetireFailed: (error: unknown) => void
}

interface Prepared {
  readonly generation: number
  readonly maxThreads: number
  readonly base: ThreadBase
  readonly sites: ReadonlyMap<string, SiteRuntime>
}

/** The sites of a render host in the generation that it serves, and in the one that is being prepared. */
export class HostSites {
  readonly #options: HostSitesOptions
  readonly #retiring = new Set<Promise<void>>()
  #sites: ReadonlyMap<string, SiteRuntime> = new Map()
  #prepared: Prepared | undefined
  /** Sites that were tried out, by id. */
  readonly #candidates = new Map<string, SiteRuntime>()
  readonly #flushes = new Gate(1)
  #lastNumber = 0

  constructor(options: HostSitesOptions) {
    this.#options = options
  }

  /** @throws RENDER_UNKNOWN_SITE */
  site(id: string): SiteRuntime {
    const site = this.#sites.get(id)
    if (site === undefined) throw new RenderError('RENDER_UNKNOWN_SITE', `no site ${id}`)
    return site
  }

  get all(): Iterable<SiteRuntime> {
    return this.#sites.values()
  }

  /** A number for a request that no other has. */
  nextNumber(): number {
    return ++this.#lastNumber
  }

  /**
   * Gives a site fresh isolates; one site at a time, since each has its old and its new ones for a while.
   * @throws RENDER_UNKNOWN_SITE, and what `SiteRuntime.flush` throws
   */
  flush(id: string): Promise<number> {
    return this.#flushes.run(() => this.site(id).flush())
  }

  /**
   * Scans, compiles and warms the one site of a generation that is not in service. If it has no errors, the generation that is prepared
   * next takes it over, if that has the site with the same settings.
   */
  async tryOut(spec: HostSpec): Promise<SiteSurvey> {
    const [next] = siteSpecs(spec, this.#options.guestDir).values()
    if (next === undefined) throw new RenderError('RENDER_UNKNOWN_SITE', 'no site to try out')
    const { id } = next.config
    this.#dropCandidate(id)
    const candidate = this.#runtime(next)
    this.#candidates.set(id, candidate)
    try {
      const survey = await candidate.tryOut(this.#sites.get(id)?.usedRoutes ?? [], originOf(spec.sites))
      if (survey.problems.some(({ severity }) => severity === 'error')) this.#dropCandidate(id)
      else setTimeout(() => this.#dropCandidate(id, candidate), CANDIDATE_MS).unref()
      return survey
    } catch (error) {
      this.#dropCandidate(id)
      throw error
    }
  }

  /** Builds the next generation. Sites whose settings are the same are kept with their isolates. */
  prepare(spec: HostSpec): void {
    const { guestDir } = this.#options
    const sites = new Map<string, SiteRuntime>()
    for (const [id, next] of siteSpecs(spec, guestDir)) {
      const known = [this.#sites.get(id), this.#candidates.get(id)]
      const same = known.find((site) => site !== undefined && JSON.stringify(site.spec) === JSON.stringify(next))
      sites.set(id, same ?? this.#runtime(next))
    }
    const { max_threads, max_isolates } = spec.config.render
    const maxThreads = Math.min(max_threads, max_isolates)
    this.#prepared = { generation: spec.generation, maxThreads, base: threadBase(spec, guestDir), sites }
  }

  /**
   * Serves the prepared generation. Pools of changed or removed sites end after their last request.
   * @throws RENDER_UNKNOWN_SITE when another generation, or none, was prepared
   */
  commit(generation: number): void {
    const prepared = this.#prepared
    if (prepared?.generation !== generation) {
      throw new RenderError('RENDER_UNKNOWN_SITE', `generation ${generation} was not prepared`)
    }
    const old = this.#sites
    this.#sites = prepared.sites
    this.#prepared = undefined
    for (const [id, candidate] of this.#candidates) {
      if (this.#sites.get(id) === candidate) this.#candidates.delete(id)
    }
    this.#options.budget.setMax(prepared.maxThreads)
    this.#options.threads.useBase(prepared.base)
    for (const site of prepared.sites.values()) site.ahead.served()
    for (const site of old.values()) if (prepared.sites.get(site.id) !== site) this.#retire(site)
  }

  abandon(generation: number): void {
    if (this.#prepared?.generation !== generation) return
    this.#prepared = undefined
    for (const id of this.#candidates.keys()) this.#dropCandidate(id)
  }

  /** Content or code of any site may have changed: pages that were rendered ahead of their release are lost. */
  clearAhead(): void {
    for (const site of [...this.#sites.values(), ...this.#candidates.values()]) site.ahead.clear()
  }

  /** Ends all pools at once. */
  async close(): Promise<void> {
    this.#options.threads.close()
    await Promise.allSettled([...this.#sites.values(), ...this.#candidates.values()].map((site) => site.close()))
  }

  #runtime(spec: SiteSpec): SiteRuntime {
    const { guestDir: _, eventsFor, onRetireFailed: __, ...shared } = this.#options
    return new SiteRuntime(spec, { ...shared, events: eventsFor(spec.config.id), nextNumber: () => this.nextNumber() })
  }

  /** @param only drops no other candidate than this */
  #dropCandidate(id: string, only = this.#candidates.get(id)): void {
    const candidate = this.#candidates.get(id)
    if (candidate === undefined || candidate !== only) return
    this.#candidates.delete(id)
    if (this.#prepared?.sites.get(id) !== candidate) this.#retire(candidate)
  }

  #retire(site: SiteRuntime): void {
    const retiring = site.retire().catch(this.#options.onRetireFailed)
    this.#retiring.add(retiring)
    retiring.finally(() => this.#retiring.delete(retiring)).catch(this.#options.onRetireFailed)
  }
}
