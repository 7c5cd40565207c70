import { type Config, type ConfigProblem, configDiff, formatProblem, type LoadResult } from '@svc/config'
import { asError, type Clock, messageOf } from '@svc/core'
import type { GenerationSpec, ReloadReport, StatusReport } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { coalesce } from './coalesce.ts'
import { buildGeneration } from './generation.ts'
import { pinKeys } from './pin-keys.ts'

/** What a reload acts on. */
export interface ReloadTarget {
  /** Has every worker build the generation, or rejects. Resolves with what makes them swap to it. */
  prepare(spec: GenerationSpec): Promise<() => Promise<void>>
  /** Has them forget it again. */
  abandon(generation: number): void
}

/** What a reloader is made of. */
export interface ReloaderOptions {
  readonly load: () => Promise<LoadResult>
  readonly current: () => GenerationSpec
  readonly target: ReloadTarget
  readonly clock: Clock
  readonly logger: Logger
}

type Outcome = Omit<ReloadReport, 'took_ms'>

/** Takes a new configuration into service while requests go on: all processes follow, or none does. */
export class Reloader {
  readonly #options: ReloaderOptions
  #lastGeneration: number
  #last: StatusReport['last_reload'] = null

  /** Reloads. Concurrent callers share runs. Never rejects: what is wrong is in the report. */
  readonly reload: () => Promise<ReloadReport>

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.#lastGeneration = options.current().generation
    this.reload = coalesce(() => this.#run())
  }

  /** The outcome of the last reload, or null when there was none. */
  get last(): StatusReport['last_reload'] {
    return this.#last
  }

  async #run(): Promise<ReloadReport> {
    const { clock, logger } = this.#options
    const startedAt = clock.monotonic()
    logger.info('reload begins')
    const outcome = await this.#attempt()
    const report: ReloadReport = { ...outcome, took_ms: Math.round(clock.monotonic() - startedAt) }
    this.#last = { at: new Date(clock.now()).toISOString(), ok: report.ok, errors: report.errors }
    const { ok, errors, ...facts } = report
    if (ok) logger.info(facts, 'reloaded')
    else logger.error({ alert: 'reload_failed', errors }, 'reload failed; the old configuration stays in service')
    return report
  }

  async #attempt(): Promise<Outcome> {
    const { load, current, target, logger } = this.#options
    const old = current()
    try {
      const result = await load()
      if (!result.ok) return this.#failed(result.problems.map((problem: ConfigProblem) => formatProblem(problem)))
      for (const notice of result.notices) logger.warn(notice)
      const diff = configDiff(old, result)
      const config = pinKeys<Config>(result.config, old.config, diff.needs_restart)
      const loaded = { config, sites: result.sites, moduleDir: old.moduleDir, web: result.web, listen: result.listen }
      const spec = await buildGeneration(++this.#lastGeneration, loaded, old)
      await this.#swap(spec, target)
      return {
        ok: true,
        generation: spec.generation,
        changed: { added: diff.sites.added.length, removed: diff.sites.removed.length, changed: diff.sites.changed.length },
        needs_restart: [...diff.needs_restart],
        errors: [],
      }
    } catch (error) {
      logger.debug({ err: asError(error) }, 'reload ended with an error')
      return this.#failed([messageOf(error)])
    }
  }

  async #swap(spec: GenerationSpec, target: ReloadTarget): Promise<void> {
    let commit: () => Promise<void>
    try {
      commit = await target.prepare(spec)
    } catch (error) {
      target.abandon(spec.generation)
      throw error
    }
    await commit()
  }

  #failed(errors: string[]): Outcome {
    return { ok: false, generation: this.#options.current().generation, changed: {}, needs_restart: [], errors }
  }
}
