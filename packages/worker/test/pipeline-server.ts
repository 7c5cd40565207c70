import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { PurgeLedger } from '@svc/cache'
import { loadConfig } from '@svc/config'
import { systemClock } from '@svc/core'
import type { GenerationSpec, HealthReport, ListenAddress, PluginOff, WafEvent } from '@svc/protocol'
import { AccessLog, descriptorSink, HttpMetrics, LineQueue, type MetricJson, MetricSet, RequestTracer } from '@svc/telemetry'
import { ManualClock, tempDir, writeFiles } from '@svc/testkit'
import { FakePlane } from '../../admin/test/fake-plane.ts'
import { type InjectOptions, inject, type MemoryResponse } from '../../engine/test/inject/index.ts'
import { RevocationList } from '../src/access/revocation-list.ts'
import { buildGeneration, retireSites, type ServingGeneration } from '../src/generation/serving-generation.ts'
import type { IsrCache } from '../src/isr/isr-cache.ts'
import { WorkerL0 } from '../src/l0/worker-l0.ts'
import { createRequestHandler, Pipeline } from '../src/pipeline/pipeline.ts'
import { createStages } from '../src/pipeline/stages.ts'
import { WorkerPlugins } from '../src/plugins/worker-plugins.ts'
import { RateLimiter } from '../src/rate-limit/rate-limiter.ts'
import type { MasterSlices } from '../src/rate-limit/slice-orders.ts'
import { sendFailure } from '../src/request/error-response.ts'
import { EventStreams } from '../src/request/event-streams.ts'
import { FlowLog } from '../src/request/flow-log.ts'
import type { Stage } from '../src/request/request-context.ts'
import { RequestLog } from '../src/request/request-log.ts'
import { RuleTables } from '../src/route-rules/rule-tables.ts'
import { WorkerTraffic } from '../src/traffic/worker-traffic.ts'
import { type LocationHandlers, VhostRuntimes } from '../src/vhost/index.ts'
import { Firewalls } from '../src/waf/firewalls.ts'
import { MatchLog } from '../src/waf/match-log.ts'
import { RuleRates } from '../src/waf/rule-rates.ts'
import { CannedRenderer } from './canned-renderer.ts'
import { ownLimits } from './own-limits.ts'

/** Token that marks a request that looped back. */
export const LOOP_TOKEN = 'loop-token'

/** A site of a test: its files by relative path, e.g. "app/page.tsx" or "public/a.txt". */
export interface TestSite {
  readonly id: string
  readonly hostnames: readonly string[]
  readonly files: Readonly<Record<string, string>>
  /** @default the id */
  readonly label?: string
}

/** A failure that the pipeline wrote down. */
export interface ReportedFailure {
  readonly requestId: string
  readonly message: string
  readonly status: number
}

/** The one site that most tests need. */
export const shop: TestSite = {
  id: 'shop',
  hostnames: ['shop.test'],
  files: { 'app/page.tsx': '', 'app/layout.tsx': '', 'app/items/[id]/page.tsx': '', 'app/api/route.ts': '' },
}

interface PipelineOptions {
  /** The clock of heartbeats. @default the clock of the machine */
  readonly eventClock?: ManualClock
}

/**
 * The pipeline as a worker builds it, with a configuration from a file, sites in real directories and a canned renderer,
 * but no socket.
 */
export class PipelineServer {
  readonly dir: string
  readonly renderer: CannedRenderer
  readonly failures: ReportedFailure[] = []
  readonly ledger = new PurgeLedger()
  readonly flows = new FlowLog()
  /** Off, until it has a collector. */
  readonly tracer = new RequestTracer({ process: {}, batchDelayMs: 10, clock: systemClock, onState: () => undefined })
  readonly traffic: WorkerTraffic
  /** The clock of L0. */
  readonly clock = new ManualClock(Date.now())
  /** Answers in place of the sites' applications, where it does not say "next". */
  intercept: Stage['run'] = () => 'next'
  readonly l0: WorkerL0
  health: () => Promise<HealthReport> = async () => ({ status: 'healthy', uptime_secs: 1, checks: {} })
  isDraining = false
  /** Metrics of all workers, and how often they were read. */
  metricsText = ''
  metricsReads = 0
  /** Addresses to listen on, from the next reload on. */
  listen: ListenAddress[] = []
  /** Responses to ACME challenges, by token. */
  readonly proofs = new Map<string, string>()
  /** The step of the master before a site in development mode answers. */
  settleSite: (site: string) => Promise<void> = async () => undefined
  /** Their certificates. */
  tls: GenerationSpec['tls'] = {}
  /** Handlers of locations with an upstream. */
  handlers: LocationHandlers = { make: () => ({ handle: (exchange) => exchange.fail(502) }) }
  /** Problems that servers of vhost files reported. */
  readonly problems: string[] = []
  /** Control plane for the built-in endpoints. */
  readonly plane = new FakePlane()
  readonly revocations = new RevocationList()
  /** Slices that the limiter gets; as many requests as are wanted, unless a test says otherwise. */
  slices: MasterSlices['take'] = async (orders) =>
    orders.map(() => ({ requests: 100, second: 0, isShared: false, validMs: 1_000, left: 1_000, retryMs: 0 }))
  /** The cache of the app stage, where a test wants one. */
  isr: IsrCache | undefined
  #generation: ServingGeneration | undefined
  readonly #vhosts: VhostRuntimes
  readonly #rules = new RuleTables()
  readonly #firewalls = new Firewalls()
  /** Requests that rules of the firewall matched. */
  readonly wafEvents: WafEvent[] = []
  /** The count of the master for rules of the firewall that have a rate. */
  countMatch: ConstructorParameters<typeof RuleRates>[0] = async () => ({ isOver: false, retryMs: 0 })
  readonly #limiter: RateLimiter
  /** Lines of plugins, and about them. */
  readonly pluginLines: string[] = []
  /** Plugins that were reported to fail too often. */
  readonly pluginsOff: PluginOff[] = []
  readonly plugins: WorkerPlugins
  readonly #metrics = new MetricSet()
  readonly #matches = new MatchLog({ metrics: this.#metrics, logger: (event) => this.wafEvents.push(event) })
  readonly #accessFile: string
  readonly #accessLines: LineQueue
  /** For engines other than the one behind `get`. */
  readonly handler: ReturnType<typeof createRequestHandler>
  #ids = 0

  private constructor(t: TestContext, { eventClock }: PipelineOptions) {
    this.dir = tempDir(t, 'pipeline')
    this.renderer = new CannedRenderer((site) => this.generation.sites.get(site)?.config.root ?? join(this.dir, site))
    this.#accessFile = join(this.dir, 'access.log')
    const fd = openSync(this.#accessFile, 'a')
    this.#accessLines = new LineQueue({ sink: descriptorSink(fd) })
    t.after(async () => {
      await this.#accessLines.close(60_000)
      closeSync(fd)
    })
    const httpMetrics = new HttpMetrics(this.#metrics)
    this.traffic = new WorkerTraffic(this.clock)
    const log = new RequestLog(httpMetrics, new AccessLog({ format: 'json', output: this.#accessLines }), this.traffic)
    const makeRequestId = () => `id-${++this.#ids}`
    const master: MasterSlices = { take: (orders) => this.slices(orders), giveBack: () => undefined }
    this.#limiter = new RateLimiter({ master, metrics: this.#metrics, clock: this.clock })
    this.l0 = new WorkerL0({
      generation: () => this.generation,
      ledger: this.ledger,
      metrics: this.#metrics,
      httpMetrics,
      traffic: this.traffic,
      limiter: this.#limiter,
      log: () => log,
      makeRequestId,
      tracer: this.tracer,
      clock: this.clock,
      onProblem: (error) => assert.fail(error),
    })
    this.plugins = new WorkerPlugins({
      metrics: this.#metrics,
      clock: systemClock,
      log: (level, { plugin }, message) => this.pluginLines.push(`${level} ${plugin} ${message}`),
      onOff: ({ name, hash }, reason) => this.pluginsOff.push({ name, hash, reason }),
    })
    const { plane } = this
    plane.health = () => this.health()
    plane.isDraining = () => this.isDraining
    this.#vhosts = new VhostRuntimes({
      limits: ownLimits(this.clock),
      metrics: async () => {
        this.metricsReads++
        return this.metricsText
      },
      passwordThread: new URL('../src/vhost/passwords/thread-main.ts', import.meta.url),
      onProblem: (error) => this.problems.push(error.message),
    })
    const stages = createStages({
      plane,
      revocations: this.revocations,
      renderer: this.renderer,
      isr: () => this.isr,
      vhosts: this.#vhosts,
      rules: this.#rules,
      limiter: this.#limiter,
      waf: {
        firewalls: this.#firewalls,
        rates: new RuleRates(
          (order) => this.countMatch(order),
          systemClock,
          () => undefined,
        ),
        log: this.#matches,
      },
      plugins: this.plugins,
      proofs: this.proofs,
      settleSite: (site) => this.settleSite(site),
      clock: eventClock ?? systemClock,
    })
    stages.splice(-1, 0, { name: 'test', run: (context) => this.intercept(context) })
    this.handler = createRequestHandler({
      generation: () => this.generation,
      pipeline: new Pipeline(stages, sendFailure),
      log: () => log,
      tools: {
        makeRequestId,
        l0: this.l0,
        eventStreams: new EventStreams(),
        flows: this.flows,
        tracer: this.tracer,
        reportFailure: ({ requestId }, { message }, status) => this.failures.push({ requestId, message, status }),
      },
    })
  }

  /** Serves these sites. `more` goes in front of them in the configuration. */
  static async start(
    t: TestContext,
    sites: readonly TestSite[] = [shop],
    more = '',
    options: PipelineOptions = {},
  ): Promise<PipelineServer> {
    const server = new PipelineServer(t, options)
    await server.reload(sites, more)
    return server
  }

  get generation(): ServingGeneration {
    assert.ok(this.#generation, 'a generation is served')
    return this.#generation
  }

  /** Swaps to a generation with these sites; requests in flight keep theirs. */
  async reload(sites: readonly TestSite[], more = ''): Promise<void> {
    const tables = sites.map(({ id, hostnames, files, label = id }) => {
      writeFiles(join(this.dir, id), { 'public/.keep': '', ...files })
      return `[[sites]]\nid = "${id}"\nroot = "${id}"\nlabel = "${label}"\nhostnames = ${JSON.stringify(hostnames)}\n`
    })
    writeFiles(this.dir, { 'svc.config.toml': `${more}\n${tables.join('')}` })
    const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: this.dir, isRoot: false })
    assert.ok(loaded.ok, JSON.stringify(loaded))
    const generation = (this.#generation?.number ?? 0) + 1
    const { config, sites: configs } = loaded
    const spec: GenerationSpec = {
      generation,
      config,
      sites: configs,
      listen: this.listen.map((address) => ({ ...address, engine: 'node' })),
      loopToken: LOOP_TOKEN,
      moduleDir: join(this.dir, 'modules'),
      web: loaded.web,
      plugins: loaded.plugins,
      tls: this.tls,
    }
    const onProblem = (error: Error) => assert.fail(error)
    const previous = this.#generation
    const next = buildGeneration(spec, previous, { renderer: this.renderer, onProblem })
    // A test may replace the handlers after the generation was prepared.
    const handlers: LocationHandlers = {
      make: (content) => ({ handle: (exchange) => this.handlers.make(content).handle(exchange) }),
    }
    await this.#vhosts.prepare(next, handlers)
    await this.#rules.prepare(next, handlers)
    await this.#firewalls.prepare(next)
    await this.plugins.prepare(next)
    this.#generation = next
    await this.tracer.prepare(config)
    this.tracer.apply(config)
    retireSites(previous, this.#generation)
    this.#limiter.apply(config)
    this.l0.apply(this.#generation, previous)
    this.plugins.serve(this.#generation, previous === undefined)
  }

  /** Sends a request to shop.test unless told otherwise. */
  get(url: string, options: Omit<InjectOptions, 'url'> = {}): Promise<MemoryResponse> {
    return inject(this.handler, { host: 'shop.test', ready: this.l0, url, ...options })
  }

  /** Everything in the access log. Ends it. */
  async accessLog(): Promise<Record<string, unknown>[]> {
    await this.#accessLines.close(60_000)
    const lines = readFileSync(this.#accessFile, 'utf8').split('\n')
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
  }

  /** Values of a metric, by its labels joined with spaces. */
  async metric(name: string): Promise<Record<string, number>> {
    const found = this.#metrics.toJson().find((metric: MetricJson) => metric.name === name)
    const values = (found?.values ?? []).map(({ labels, value }) => [Object.values(labels).join(' '), value] as const)
    return Object.fromEntries(values)
  }

  /** The code of a problem+json answer. */
  static codeOf(response: MemoryResponse): string {
    assert.equal(response.headers['content-type'], 'application/problem+json')
    return JSON.parse(response.text).code
  }
}
