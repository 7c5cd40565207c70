import {
  type Config,
  type ConfigProblem,
  configDiff,
  engineOf,
  formatProblem,
  type ListenName,
  type LoadedCertificate,
  type LoadResult,
  pinKeys,
  type ResolvedConfig,
} from '@svc/config'
import { asError, type Clock, coalesce, Gate, messageOf } from '@svc/core'
import type { GenerationSpec, ReloadPreview, ReloadReport, StatusReport } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { InheritedSockets } from '../listen/inherited-sockets.ts'
import { ReservedPorts } from '../listen/reserved-ports.ts'
import { checkStillFree, resolveListen } from '../listen/resolve-listen.ts'
import type { Certificates } from '../tls/certificates.ts'
import { type PreviewedLoad, reloadPreview } from './reload-preview.ts'

/** A configuration to serve. */
export interface ServableConfig extends ResolvedConfig {
  /** The addresses that it names. */
  readonly listen: readonly ListenName[]
  /** Every certificate that it names. */
  readonly certificates: readonly LoadedCertificate[]
}

/** Inputs of a generation. */
interface GenerationParts extends Pick<GenerationSpec, 'listen' | 'loopToken'> {
  readonly ports: ReservedPorts
  readonly certificates: Pick<Certificates, 'tlsFor'>
  readonly sockets: InheritedSockets
}

/**
 * Builds the generation that all processes serve.
 * @param parts `listen` and `loopToken` are those of the previous generation; `ports` are to be released when the workers listen
 * @throws SUP_LISTEN if a new address cannot be opened, SUP_NO_CERTIFICATE
 */
export async function buildGeneration(
  generation: number,
  loaded: ServableConfig,
  { listen: held, loopToken, ports, certificates, sockets }: GenerationParts,
): Promise<GenerationSpec> {
  const fresh = loaded.listen.filter(({ name }) => !held.some((address) => address.name === name))
  const wanted = loaded.listen.map((one) => ({ ...one, engine: engineOf(one, loaded.config) }))
  const listen = await resolveListen(wanted, [...held, ...sockets.take(fresh, loaded.listen)], ports)
  const { config, sites, moduleDir, web, plugins } = loaded
  const tls = await certificates.tlsFor(listen, loaded)
  return Object.freeze({ generation, config, sites, moduleDir, loopToken, listen, web, plugins, tls })
}

/** The processes that a reload changes. */
export interface ReloadTarget {
  /** Has every worker build the generation, or rejects. Resolves with a function that makes them swap to it. */
  prepare(spec: GenerationSpec): Promise<() => Promise<void>>
  /** Has the workers drop a prepared generation. */
  abandon(generation: number): void
}

/** Options of a `Reloader`. */
interface ReloaderOptions {
  readonly load: () => Promise<LoadResult>
  /** Loads without an effect. */
  readonly loadPreview: () => Promise<PreviewedLoad>
  readonly current: () => GenerationSpec
  readonly target: ReloadTarget
  readonly certificates: Certificates
  readonly sockets: InheritedSockets
  /** Resolves when the instance has started. No reload runs before: it would interfere with processes that are starting. */
  readonly started: Promise<void>
  /** A reload has failed, and the generation before it stays in service. */
  readonly onFailed: (errors: readonly string[]) => void
  readonly clock: Clock
  readonly logger: Logger
}

type EditedParts = Pick<GenerationSpec, 'config' | 'sites' | 'web' | 'plugins'>
type Edit = (served: EditedParts) => Promise<EditedParts>
type Outcome = Omit<ReloadReport, 'took_ms'>

/** Puts a new configuration into service without interrupting requests: in all processes or in none. */
export class Reloader {
  readonly #options: ReloaderOptions
  #lastGeneration: number
  #last: StatusReport['last_reload'] = null

  /** Reloads. Concurrent callers share runs. Never rejects: the report has the errors. */
  readonly reload: () => Promise<ReloadReport>
  /** Puts new certificates into service and keeps the configuration. Otherwise like `reload`. */
  readonly renewCertificates: () => Promise<ReloadReport>
  /** The changes that a reload would make now. */
  readonly preview: () => Promise<ReloadPreview>
  readonly #turn = new Gate(1)

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.#lastGeneration = options.current().generation
    this.reload = coalesce(() => this.#inTurn(() => this.#reload()))
    this.preview = coalesce(() =>
      this.#turn.run(() => options.started.then(async () => reloadPreview(options.current(), await options.loadPreview()))),
    )
    this.renewCertificates = coalesce(() => this.#inTurn(() => this.#renewCertificates()))
  }

  /** The outcome of the last reload; null before the first. */
  get last(): StatusReport['last_reload'] {
    return this.#last
  }

  #inTurn(task: () => Promise<ReloadReport>): Promise<ReloadReport> {
    return this.#turn.run(() => this.#options.started.then(task))
  }

  async #reload(): Promise<ReloadReport> {
    const { clock, logger, certificates } = this.#options
    logger.info('reloading')
    const report = await this.#timed(() => this.#load())
    this.#last = { at: new Date(clock.now()).toISOString(), ok: report.ok, errors: report.errors }
    const { ok, errors, ...facts } = report
    if (ok) {
      certificates.noFaults()
      logger.info(facts, 'reloaded')
    } else {
      logger.error({ alert: 'reload_failed', errors }, 'reload failed; the old configuration stays in service')
      this.#options.onFailed(errors)
      await certificates.recheck()
    }
    return report
  }

  async #renewCertificates(): Promise<ReloadReport> {
    const { logger } = this.#options
    const report = await this.#timed(() => this.#serveAgain())
    const { ok, errors, ...facts } = report
    if (ok) logger.info(facts, 'new certificates are in service')
    else logger.error({ errors }, 'failed to put new certificates into service')
    return report
  }

  /** Puts values, sites and upstreams into service as `edit` returns them, and keeps the rest of the configuration. Otherwise like `reload`. */
  change(edit: Edit): Promise<ReloadReport> {
    return this.#inTurn(() => this.#timed(() => this.#serveAgain(edit)))
  }

  /** Serves a generation with the current configuration, but for the certificates, and the parts that `edit` returns. */
  async #serveAgain(edit: Edit = async (served) => served): Promise<Outcome> {
    const { current, certificates } = this.#options
    const { moduleDir, listen, ...parts } = current()
    const names = listen.map(({ name, isTls, engine, isProxied }) => ({
      name,
      isTls: isTls === true,
      engine,
      ...(isProxied === true && { isProxied }),
    }))
    const { config, sites, web, plugins } = await edit(parts)
    const kept = { config, sites, moduleDir, web, plugins, listen: names, certificates: certificates.files }
    return this.#serve(kept, { changed: {}, needs_restart: [] })
  }

  async #timed(attempt: () => Promise<Outcome>): Promise<ReloadReport> {
    const { clock, logger } = this.#options
    const startedAt = clock.monotonic()
    const outcome = await attempt().catch((error: unknown) => {
      logger.debug({ err: asError(error) }, 'reload ended with an error')
      return this.#failed([messageOf(error)])
    })
    return { ...outcome, took_ms: Math.round(clock.monotonic() - startedAt) }
  }

  async #load(): Promise<Outcome> {
    const { load, current, logger } = this.#options
    const old = current()
    const result = await load()
    if (!result.ok) return this.#failed(result.problems.map((problem: ConfigProblem) => formatProblem(problem)))
    for (const notice of result.notices) logger.warn(notice)
    const diff = await configDiff(old, result)
    const config = pinKeys<Config>(result.config, old.config, diff.needs_restart)
    const changed = {
      added: diff.sites.added.length,
      removed: diff.sites.removed.length,
      changed: diff.sites.changed.length,
    }
    const { sites, web, plugins, listen, certificates } = result
    const loaded = { config, sites, moduleDir: old.moduleDir, web, plugins, listen, certificates }
    return this.#serve(loaded, { changed, needs_restart: [...diff.needs_restart] })
  }

  async #serve(loaded: ServableConfig, facts: Pick<Outcome, 'changed' | 'needs_restart'>): Promise<Outcome> {
    const { current, target, certificates, sockets } = this.#options
    const { listen, loopToken } = current()
    const ports = new ReservedPorts()
    try {
      const spec = await buildGeneration(++this.#lastGeneration, loaded, { listen, loopToken, ports, certificates, sockets })
      await this.#swap(spec, target, ports)
      return { ok: true, generation: spec.generation, ...facts, errors: [] }
    } finally {
      ports.release()
    }
  }

  async #swap(spec: GenerationSpec, target: ReloadTarget, ports: ReservedPorts): Promise<void> {
    let commit: () => Promise<void>
    try {
      commit = await target.prepare(spec)
      await checkStillFree(spec.listen, this.#options.current().listen, ports)
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
