import { type LeaseDesk, PurgeLedger } from '@svc/cache'
import { systemClock } from '@svc/core'
import { type EngineLimits, type EngineOptions, makeEngine } from '@svc/engine'
import { PRODUCT_VERSION, type RequestLimitOrder } from '@svc/protocol'
import {
  addLogMetrics,
  addProcessMetrics,
  addRedisCommands,
  addTraceMetrics,
  CacheMetrics,
  type HttpMetrics,
  type MetricSet,
  RequestIds,
  RequestTracer,
} from '@svc/telemetry'
import { RevocationList } from './access/revocation-list.ts'
import { createControlPlane, type MasterPeer } from './control/master-control-plane.ts'
import { Generations } from './generation/generations.ts'
import { bodyDirectory, WorkerEngine } from './generation/worker-engine.ts'
import { PageQueue } from './isr/page-queue.ts'
import { Warmer } from './isr/warmer.ts'
import { WorkerIsr } from './isr/worker-isr.ts'
import { WorkerL0 } from './l0/worker-l0.ts'
import { ConnectionLimits } from './limits/connection-limits.ts'
import { RequestLimits } from './limits/request-limits.ts'
import { createRequestHandler, Pipeline } from './pipeline/pipeline.ts'
import type { WafParts } from './pipeline/stages/waf-stage.ts'
import { createStages } from './pipeline/stages.ts'
import { WorkerPlugins } from './plugins/worker-plugins.ts'
import { WorkerProxyCache } from './proxy-cache/index.ts'
import { UpstreamHandlers } from './proxying/upstream-handlers.ts'
import { RateLimiter } from './rate-limit/rate-limiter.ts'
import type { MasterSlices } from './rate-limit/slice-orders.ts'
import { HostRenderer } from './render-client/host-renderer.ts'
import { HostSet } from './render-client/host-set.ts'
import { sendFailure } from './request/error-response.ts'
import { EventStreams } from './request/event-streams.ts'
import { FlowLog } from './request/flow-log.ts'
import { RuleTables } from './route-rules/rule-tables.ts'
import { sharingLeases } from './shared-cache/share-leases.ts'
import { WorkerRedis } from './shared-cache/worker-redis.ts'
import type { WorkerTraffic } from './traffic/worker-traffic.ts'
import { VhostRuntimes, type WorkerLimits } from './vhost/index.ts'
import { Firewalls } from './waf/firewalls.ts'
import { MatchLog } from './waf/match-log.ts'
import { RuleRates } from './waf/rule-rates.ts'
import type { WorkerLog } from './worker-log.ts'

export const MASTER_TIMEOUT_MS = 5_000
/** So long a span waits for others, to go with them. */
const SPAN_DELAY_MS = 2_000

/** Dependencies of the components of a worker. */
interface ComponentOptions {
  readonly workerId: number
  /** Program of the thread that checks passwords. */
  readonly passwordThread: URL
  readonly master: MasterPeer
  readonly log: WorkerLog
  readonly metrics: MetricSet
  readonly httpMetrics: HttpMetrics
  readonly traffic: WorkerTraffic
}

export type WorkerComponents = ReturnType<typeof createComponents>

/** Makes the components of a worker, each with those that it needs. Nothing listens or connects yet. */
export function createComponents(own: ComponentOptions) {
  const { workerId, passwordThread, master, log, metrics, httpMetrics, traffic } = own
  const { onProblem } = log
  const tracer = makeTracer(workerId, log, metrics)
  const generations = new Generations()
  const generation = () => generations.current
  const draining = new AbortController()
  const firewalls = new Firewalls()
  const plane = createControlPlane({
    master,
    firewall: () => firewalls.of(generations.current),
    generation,
    isDraining: () => draining.signal.aborted,
    isrStore: () => caches.isr.store,
    proxyStore: () => caches.proxyCache.store,
    renderPages: (pages) => caches.pages.add(pages),
  })
  const hosts = new HostSet({
    workerId,
    limits: () => generations.current.config.render,
    events: { problem: onProblem, lost: (host, sites) => master.notify('hostLost', { host, sites: [...sites] }) },
  })
  const renderer = new HostRenderer(hosts)
  const limiter = new RateLimiter({ master: slicesOf(master), metrics, clock: systemClock })
  const plugins = new WorkerPlugins({
    metrics,
    clock: systemClock,
    log: log.plugin,
    onOff: ({ name, hash }, reason) => master.notify('pluginFailed', { name, hash, reason }),
  })
  const caches = createCaches({ ...own, tracer, generations, renderer, limiter, purge: plane.purges.purge })
  const upstreams = new UpstreamHandlers(systemClock, caches.proxyCache)
  const vhosts = new VhostRuntimes({ passwordThread, limits: limitsOfVhosts(master), metrics: metricsOf(master), onProblem })
  const rules = new RuleTables()
  const waf = makeWaf(own, firewalls)
  const eventStreams = new EventStreams()
  const flows = new FlowLog()
  const proofs = new Map<string, string>()
  const revocations = new RevocationList()
  const stages = createStages({
    plane,
    revocations,
    renderer,
    isr: (config) => caches.isr.cacheFor(config),
    vhosts,
    rules,
    limiter,
    waf,
    plugins,
    proofs,
    clock: systemClock,
    settleSite: (site) => master.call('settleSite', { site }, { timeoutMs: MASTER_TIMEOUT_MS }),
  })
  const onExchange = createRequestHandler({
    generation,
    pipeline: new Pipeline(stages, sendFailure),
    log: log.requests,
    tools: { makeRequestId: caches.makeRequestId, l0: caches.l0, eventStreams, flows, tracer, reportFailure: log.reportFailure },
  })
  const options = engineOptions(generations, log, { ready: caches.l0, onExchange: (exchange) => onExchange(exchange) })
  const engine = new WorkerEngine((name) => makeEngine(name, options, log.onEngineFallback), log.onListenFailure)
  return {
    ...caches,
    master,
    log,
    metrics,
    httpMetrics,
    traffic,
    generations,
    draining,
    hosts,
    renderer,
    upstreams,
    vhosts,
    rules,
    limiter,
    waf,
    plugins,
    onExchange,
    eventStreams,
    flows,
    tracer,
    proofs,
    revocations,
    engine,
  }
}

interface CacheOptions extends Pick<ComponentOptions, 'workerId' | 'master' | 'log' | 'metrics' | 'httpMetrics' | 'traffic'> {
  readonly tracer: RequestTracer
  readonly generations: Generations
  readonly renderer: HostRenderer
  readonly limiter: RateLimiter
  readonly purge: ConstructorParameters<typeof WorkerProxyCache>[0]['purge']
}

function createCaches({ workerId, master, log, metrics, generations, renderer, purge, ...ofL0 }: CacheOptions) {
  const { onProblem } = log
  const clock = systemClock
  const ledger = new PurgeLedger()
  const shared = { ledger, leases: leasesOf(master), metrics: new CacheMetrics(metrics), clock, onProblem }
  const redis = new WorkerRedis(workerId, clock)
  const shareLeases = sharingLeases({ ...shared, redis: () => redis.client })
  const isr = new WorkerIsr({ ...shared, shareLeases, renderer })
  const proxyCache = new WorkerProxyCache({ ...shared, shareLeases, purge })
  const ofPages = {
    generation: () => generations.inService,
    cache: () => generations.inService && isr.cacheFor(generations.inService.config),
    onProblem,
  }
  const warmer = new Warmer({ ...ofPages, renderer })
  const pages = new PageQueue(ofPages)
  const makeRequestId = new RequestIds().next
  const l0 = new WorkerL0({
    generation: () => generations.current,
    ledger,
    metrics,
    httpMetrics: ofL0.httpMetrics,
    traffic: ofL0.traffic,
    limiter: ofL0.limiter,
    log: log.requests,
    makeRequestId,
    tracer: ofL0.tracer,
    clock,
    onProblem,
  })
  addProcessMetrics(metrics)
  addRedisCommands(metrics, () => redis.counts)
  addLogMetrics(metrics, () => log.droppedLines)
  return { ledger, isr, proxyCache, redis, warmer, pages, l0, makeRequestId }
}

function makeTracer(workerId: number, log: WorkerLog, metrics: MetricSet): RequestTracer {
  const process = { 'service.version': PRODUCT_VERSION, 'process.pid': globalThis.process.pid, 'svc.worker': workerId }
  const tracer = new RequestTracer({ process, batchDelayMs: SPAN_DELAY_MS, clock: systemClock, onState: log.onCollectorState })
  addTraceMetrics(metrics, () => tracer.counts)
  return tracer
}

function leasesOf(master: MasterPeer): LeaseDesk {
  return {
    lease: (key) => master.call('lease', { key }, { timeoutMs: Number.POSITIVE_INFINITY }),
    leaseEnded: (id, outcome) => master.notify('leaseEnded', { id, outcome }),
    isHeld: async (prefixes) =>
      (await master.call('leaseHeld', { prefixes: [...prefixes] }, { timeoutMs: MASTER_TIMEOUT_MS })).isHeld,
  }
}

/** The master waits for its workers for a second. */
const METRICS_TIMEOUT_MS = 5_000

function metricsOf(master: MasterPeer): () => Promise<string> {
  return async () => (await master.call('metrics', undefined, { timeoutMs: METRICS_TIMEOUT_MS })).text
}

/** The master counts a slice when it hands it out. A late one is taken all the same: its requests are given back. */
const untilItReplies = { timeoutMs: Number.POSITIVE_INFINITY }

function slicesOf(master: MasterPeer): MasterSlices {
  return {
    take: async (orders) => (await master.call('takeSlices', { orders: [...orders] }, untilItReplies)).slices,
    giveBack: (unused) => master.notify('returnSlices', { unused: [...unused] }),
  }
}

/** A decision that comes later is made by the worker itself. */
const LIMIT_TIMEOUT_MS = 250

function limitsOfVhosts(master: MasterPeer): WorkerLimits {
  const timely = { timeoutMs: LIMIT_TIMEOUT_MS }
  const decide = async (orders: readonly RequestLimitOrder[]) =>
    (await master.call('limitRequests', { orders: orders.map((order) => [...order]) }, timely)).replies
  return {
    requests: new RequestLimits(decide, systemClock),
    connections: new ConnectionLimits({
      begin: async (orders) => (await master.call('beginConnections', { orders: [...orders] }, timely)).replies,
      end: (ids) => master.notify('endConnections', { ids: [...ids] }),
    }),
    clock: systemClock,
  }
}

/** A count that comes later is of no use to a request that waits for it. */
const RATE_TIMEOUT_MS = 1_000

function makeWaf({ master, metrics, log }: ComponentOptions, firewalls: Firewalls): WafParts {
  const matchLog = new MatchLog({ metrics, logger: log.onWafMatch })
  const count = (order: { rule: string; client: string }) => master.call('countWafMatch', order, { timeoutMs: RATE_TIMEOUT_MS })
  const rates = new RuleRates(count, systemClock, () => matchLog.metrics.undecided.value++)
  return { firewalls, rates, log: matchLog }
}

function engineOptions(
  generations: Generations,
  log: WorkerLog,
  { ready, onExchange }: Required<Pick<EngineOptions, 'ready' | 'onExchange'>>,
): EngineOptions {
  return {
    ready,
    onExchange,
    limits: () => limitsOf(generations),
    bodyLimitOf: (method, path) => uploadLimit(generations, method, path),
    bodyDir: () => bodyDirectory(generations.current.config),
    isTrustedProxy: (address) => generations.current.trustedProxies.contains(address),
    onProblem: log.onProblem,
    onRefused: log.onRefused,
  }
}

/** Uploads are limited by their endpoint. Bytes that come faster than it reads wait in a file, which must have a limit as well. */
function uploadLimit(generations: Generations, method: string, path: string): number | undefined {
  const { endpoints, config } = generations.current
  const match = endpoints.match(method, path)
  return match?.kind === 'endpoint' && match.endpoint.isUpload === true ? 2 * config.deploy.max_bytes : undefined
}

function limitsOf(generations: Generations): EngineLimits {
  const { config, maxBodyBytes } = generations.current
  const { server } = config
  return {
    maxBodyBytes,
    requestTimeoutMs: server.request_timeout_secs * 1000,
    idleTimeoutMs: server.idle_timeout_secs * 1000,
    maxHeaderBytes: server.max_header_bytes,
  }
}
