import type { ControlPlane } from '@svc/admin'
import { type LeaseDesk, type Purge, PurgeLedger, type PurgeState } from '@svc/cache'
import { createIpcChannel, type Handlers, RpcPeer, systemClock } from '@svc/core'
import type { Engine, EngineLimits, EngineOptions, Refusal } from '@svc/engine'
import { makeEngine } from '@svc/engine'
import {
  type HostEndpoint,
  type KnownServers,
  masterMethods,
  type PackedGeneration,
  PROTOCOL_VERSION,
  unpackGeneration,
  workerMethods,
} from '@svc/protocol'
import {
  AccessLog,
  addProcessMetrics,
  CacheMetrics,
  createLogger,
  createRequestIds,
  HttpMetrics,
  type Logger,
  MetricSet,
} from '@svc/telemetry'
import { createControlPlane, type MasterPeer } from './control/master-control-plane.ts'
import { WorkerError } from './errors/errors.ts'
import { bodyDirectory, ListenAddresses } from './generation/listen-addresses.ts'
import { buildGeneration, retireSites, type ServingGeneration } from './generation/serving-generation.ts'
import { Warmer } from './isr/warmer.ts'
import { WorkerIsr } from './isr/worker-isr.ts'
import { WorkerL0 } from './l0/worker-l0.ts'
import { createRequestHandler, Pipeline } from './pipeline/pipeline.ts'
import { createStages } from './pipeline/stages.ts'
import { WorkerProxyCache } from './proxy-cache/index.ts'
import { UpstreamHandlers } from './proxying/upstream-handlers.ts'
import { HostRenderer } from './render-client/host-renderer.ts'
import { HostSet } from './render-client/host-set.ts'
import { sendFailure } from './request/error-response.ts'
import { EventStreams } from './request/event-streams.ts'
import type { RequestContext } from './request/request-context.ts'
import { RequestLog } from './request/request-log.ts'
import { createVhosts, type VhostRuntimes } from './vhost/index.ts'

const MASTER_TIMEOUT_MS = 5_000
const LOG_CLOSE_TIMEOUT_MS = 1_000
const MAX_LOST_BYTES = 32 * 1024 * 1024 // some three hundred exchanges of a few certificates

/** What a worker is given when it starts. */
export interface WorkerProcessOptions {
  readonly workerId: number
  /** Leads to the master. */
  readonly endpoint: Parameters<typeof createIpcChannel>[0]
  /** Program of the thread that checks passwords. */
  readonly passwordThread: URL
  /** Where access lines go. */
  readonly accessLogFd: number
}

/** A connection worker: an engine, the generation it serves, and the line to the master. */
export class WorkerProcess {
  readonly #workerId: number
  readonly #accessLogFd: number
  readonly #metrics = new MetricSet()
  readonly #httpMetrics = new HttpMetrics(this.#metrics)
  readonly #hosts: HostSet
  readonly #renderer: HostRenderer
  readonly #ledger = new PurgeLedger()
  readonly #isr: WorkerIsr
  readonly #warmer: Warmer
  readonly #requestIds = createRequestIds()
  readonly #eventStreams = new EventStreams()
  readonly #l0: WorkerL0
  readonly #master: MasterPeer
  readonly #proxyCache: WorkerProxyCache
  readonly #upstreams: UpstreamHandlers
  readonly #vhosts: VhostRuntimes
  readonly #knownServers: KnownServers = new Map()
  readonly #prepared = new Map<number, ServingGeneration>()
  /** What certificate authorities are answered, by token. */
  readonly #proofs = new Map<string, string>()
  #isWornOut = false
  #logger: Logger
  #accessLog: AccessLog | undefined
  #requestLog: RequestLog
  #generation: ServingGeneration | undefined
  #engine: Engine | undefined
  #addresses: ListenAddresses | undefined
  #isDraining = false

  constructor({ workerId, endpoint, passwordThread, accessLogFd }: WorkerProcessOptions) {
    this.#workerId = workerId
    this.#accessLogFd = accessLogFd
    this.#vhosts = createVhosts({
      passwordThread,
      handlersFor: (generation) => this.#upstreams.handlersFor(generation),
      onProblem: this.#onProblem,
    })
    this.#logger = createLogger({ level: 'info', format: 'json', base: { proc: 'worker', worker: workerId } })
    this.#requestLog = new RequestLog(this.#httpMetrics, undefined)
    this.#hosts = new HostSet({
      workerId,
      limits: () => this.#current().config.render,
      events: {
        problem: this.#onProblem,
        lost: (host, sites) => this.#master.notify('hostLost', { host, sites: [...sites] }),
      },
    })
    this.#renderer = new HostRenderer(this.#hosts)
    const leases: LeaseDesk = {
      lease: (key) => this.#master.call('lease', { key }, { timeoutMs: Number.POSITIVE_INFINITY }),
      leaseEnded: (id, outcome) => this.#master.notify('leaseEnded', { id, outcome }),
      isHeld: async (prefixes) =>
        (await this.#master.call('leaseHeld', { prefixes: [...prefixes] }, { timeoutMs: MASTER_TIMEOUT_MS })).isHeld,
    }
    const metrics = new CacheMetrics(this.#metrics)
    const parts = { ledger: this.#ledger, leases, metrics, clock: systemClock, onProblem: this.#onProblem }
    this.#isr = new WorkerIsr({ ...parts, renderer: this.#renderer })
    this.#proxyCache = new WorkerProxyCache({ ...parts, purge: (order) => this.#controlPlane().purges.purge(order) })
    this.#upstreams = new UpstreamHandlers(systemClock, this.#proxyCache)
    this.#warmer = new Warmer({
      generation: () => this.#generation,
      cache: () => this.#generation && this.#isr.cacheFor(this.#generation.config),
      renderer: this.#renderer,
      onProblem: this.#onProblem,
    })
    this.#l0 = new WorkerL0({
      generation: () => this.#current(),
      ledger: this.#ledger,
      metrics: this.#metrics,
      httpMetrics: this.#httpMetrics,
      log: () => this.#requestLog,
      makeRequestId: this.#requestIds,
      clock: systemClock,
      onProblem: this.#onProblem,
    })
    addProcessMetrics(this.#metrics)
    this.#master = new RpcPeer({
      channel: createIpcChannel(endpoint),
      local: workerMethods,
      handlers: this.#handlers(),
      remote: masterMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'the master',
      onProblem: this.#onProblem,
    })
  }

  /** Resolves when the master is gone: a worker does not outlive it. */
  get orphaned(): Promise<unknown> {
    return this.#master.closed
  }

  readonly #onProblem = (error: Error): void => {
    this.#logger.warn({ err: error }, error.message)
  }

  readonly #onListenFailure = (error: Error): void => {
    this.#logger.error({ alert: 'listen_failed', err: error }, error.message)
  }

  #handlers(): Handlers<typeof workerMethods> {
    return {
      prepare: ({ spec, hosts, purges }) => this.#prepare(spec, hosts, purges),
      commit: ({ generation }) => this.#commit(generation),
      abandon: ({ generation }) => this.#abandon(generation),
      hosts: ({ hosts }) => {
        this.#hosts.update(hosts)
        return undefined
      },
      proofs: ({ proofs }) => {
        this.#proofs.clear()
        for (const { token, proof } of proofs) this.#proofs.set(token, proof)
        return undefined
      },
      siteChanged: ({ site }) => this.#siteChanged(site),
      purge: ({ purge }) => this.#purge(purge),
      purgeSettled: ({ number }) => {
        this.#isr.refresh()
        this.#proxyCache.refresh()
        this.#ledger.settled(number)
        return undefined
      },
      warm: ({ site }) => {
        this.#warmer.add(site)
        return undefined
      },
      cacheStats: () => this.#l0.stats(),
      drain: ({ timeoutMs }) => this.#drain(timeoutMs),
      cut: () => {
        this.#engine?.cut()
        return undefined
      },
      ping: () => ({ connections: this.#engine?.connections ?? 0, inFlight: this.#engine?.inFlight ?? 0 }),
      metrics: async () => {
        this.#httpMetrics.activeConnections.value = this.#engine?.connections ?? 0
        return { metrics: await this.#metrics.toJson() }
      },
    }
  }

  /** A site that is both in service and prepared is told twice: it may be two of them. */
  #siteChanged(id: string): undefined {
    for (const generation of [this.#generation, ...this.#prepared.values()]) {
      const site = generation?.sites.get(id)
      if (site === undefined) continue
      site.forget()
      this.#isr.siteChanged(site.config.label)
    }
    return undefined
  }

  async #purge(purge: Purge): Promise<{ l0: number }> {
    this.#ledger.add(purge)
    const l0 = this.#l0.purge(purge)
    await Promise.all([this.#isr.purged(purge), this.#proxyCache.purged(purge)])
    return { l0 }
  }

  async #prepare(packed: PackedGeneration, hosts: readonly HostEndpoint[], purges: PurgeState | undefined): Promise<undefined> {
    // In this turn: purges that come while the generation is unpacked are later ones.
    if (purges !== undefined) this.#takePurges(purges)
    const spec = await unpackGeneration(packed, this.#knownServers)
    await this.#isr.prepare(spec.config)
    await this.#proxyCache.prepare(spec.config)
    const tools = { renderer: this.#renderer, onProblem: this.#onProblem }
    const next = buildGeneration(spec, this.#generation, tools)
    this.#prepared.set(spec.generation, next)
    this.#hosts.update(hosts)
    await next.prepareRoutes()
    await this.#vhosts.prepare(next)
    this.#engine ??= await this.#makeEngine(spec.config.server.engine)
    this.#addresses ??= new ListenAddresses(this.#engine, this.#onListenFailure)
    this.#addresses.prepare(spec)
    return undefined
  }

  #takePurges(purges: PurgeState): void {
    // What was missed is known only by its number: anything in L0 may be meant.
    if (purges.last > this.#ledger.last) this.#l0.clear()
    this.#ledger.reset(purges)
  }

  async #commit(number: number): Promise<undefined> {
    const next = this.#prepared.get(number)
    if (next === undefined) throw new WorkerError('WORKER_NOT_PREPARED', `generation ${number} was not prepared`)
    await this.#addresses?.open(next.spec)
    this.#prepared.clear()
    const previous = this.#generation
    this.#generation = next
    this.#addresses?.serve(next.spec)
    this.#noteWear()
    retireSites(previous, next)
    this.#hosts.sitesChanged((site) => next.sites.has(site))
    this.#l0.apply(next, previous)
    this.#applyLogging(next, previous)
    await this.#master.call('ready', { generation: number, pid: process.pid }, { timeoutMs: MASTER_TIMEOUT_MS })
    return undefined
  }

  /** Memory that exchanges of certificates leave behind comes back with the process alone. */
  #noteWear(): void {
    if (this.#isWornOut || (this.#engine?.lostBytes ?? 0) < MAX_LOST_BYTES) return
    this.#isWornOut = true
    this.#master.notify('wornOut', { reason: 'certificates were exchanged many times' })
  }

  #abandon(number: number): undefined {
    this.#prepared.delete(number)
    this.#addresses?.abandon(number)
    return undefined
  }

  #applyLogging(next: ServingGeneration, previous: ServingGeneration | undefined): void {
    const { level, format, access } = next.config.logging
    const before = previous?.config.logging
    if (before?.level === level && before.format === format && before.access === access) return
    this.#logger = createLogger({ level, format, base: { proc: 'worker', worker: this.#workerId } })
    const old = this.#accessLog
    this.#accessLog = access ? new AccessLog({ format, fd: this.#accessLogFd }) : undefined
    this.#requestLog = new RequestLog(this.#httpMetrics, this.#accessLog)
    old?.close(LOG_CLOSE_TIMEOUT_MS).catch(this.#onProblem)
  }

  #makeEngine(name: 'uws' | 'node'): Promise<Engine> {
    return makeEngine(name, this.#engineOptions(), (err) => {
      this.#logger.warn({ err }, 'there is no uWebSockets.js for this platform: engine node serves instead')
    })
  }

  #engineOptions(): EngineOptions {
    const pipeline = new Pipeline(
      createStages({
        plane: this.#controlPlane(),
        renderer: this.#renderer,
        isr: (config) => this.#isr.cacheFor(config),
        vhosts: this.#vhosts,
        proofs: this.#proofs,
        settleSite: (site) => this.#master.call('settleSite', { site }, { timeoutMs: MASTER_TIMEOUT_MS }),
      }),
      sendFailure,
    )
    const onExchange = createRequestHandler({
      generation: () => this.#current(),
      pipeline,
      log: () => this.#requestLog,
      tools: {
        makeRequestId: this.#requestIds,
        l0: this.#l0,
        eventStreams: this.#eventStreams,
        reportFailure: (context, error, status) => this.#reportFailure(context, error, status),
      },
    })
    return {
      ready: this.#l0,
      onExchange,
      limits: () => this.#limits(),
      bodyDir: () => bodyDirectory(this.#current().config),
      isTrustedProxy: (address) => this.#current().trustedProxies.contains(address),
      onProblem: this.#onProblem,
      onRefused: (refusal) => this.#onRefused(refusal),
    }
  }

  #onRefused(refusal: Refusal): void {
    this.#requestLog.refused(refusal)
    const { status, code, method, target, listener, remoteAddress } = refusal
    this.#logger.debug({ status, code, method, target, listener, client: remoteAddress }, 'a request was refused')
  }

  #limits(): EngineLimits {
    const { config, maxBodyBytes } = this.#current()
    const { server } = config
    return {
      maxBodyBytes,
      requestTimeoutMs: server.request_timeout_secs * 1000,
      idleTimeoutMs: server.idle_timeout_secs * 1000,
      maxHeaderBytes: server.max_header_bytes,
    }
  }

  /** While the first generation takes over, requests that come in already are served by it. */
  #current(): ServingGeneration {
    const generation = this.#generation ?? this.#prepared.values().next().value
    if (generation === undefined) throw new WorkerError('WORKER_NOT_PREPARED', 'no generation is prepared yet')
    return generation
  }

  #controlPlane(): ControlPlane {
    return createControlPlane({
      master: this.#master,
      generation: () => this.#current(),
      isDraining: () => this.#isDraining,
    })
  }

  #reportFailure(context: RequestContext, error: Error, status: number): void {
    const facts = {
      request_id: context.requestId,
      site: context.site?.config.id,
      path: context.exchange.request.rawPath,
      status,
      err: error,
    }
    if (status >= 500) this.#logger.error(facts, error.message)
    else this.#logger.warn(facts, error.message)
  }

  async #drain(timeoutMs: number): Promise<{ cut: number }> {
    this.#isDraining = true
    this.#warmer.stop()
    const drained = this.#engine?.drain(timeoutMs)
    // Now that the engine knows that connections are to close.
    this.#eventStreams.end()
    const result = (await drained) ?? { cut: 0 }
    this.#hosts.close()
    await this.#isr.close()
    await this.#proxyCache.close()
    await this.#accessLog?.close(LOG_CLOSE_TIMEOUT_MS)
    return result
  }
}
