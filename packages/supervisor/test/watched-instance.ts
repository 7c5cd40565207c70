import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Config, type LoadedConfig, loadConfig, type PluginSpec } from '@svc/config'
import { defaultTimings } from '@svc/processes'
import type { AlertReport, GenerationSpec } from '@svc/protocol'
import { createLogger, type MetricJson } from '@svc/telemetry'
import { ManualClock, tempDir, waitFor, writeFiles } from '@svc/testkit'
import type { Alerts } from '../src/alerts/alerts.ts'
import { Analytics } from '../src/analytics/analytics.ts'
import { WorkerFleet } from '../src/fleet/worker-fleet.ts'
import { InheritedSockets } from '../src/listen/inherited-sockets.ts'
import { makeAlerts, type WatchedParts } from '../src/master/alert-sources.ts'
import { IsolateLosses } from '../src/master/instance-health.ts'
import type { MasterParts } from '../src/master/parts.ts'
import { RenderHosts } from '../src/master/render-hosts.ts'
import { MetricsCollector } from '../src/metrics/metrics-collector.ts'
import { SwitchedPlugins } from '../src/plugins/switched-plugins.ts'
import { Reloader } from '../src/reload/reloader.ts'
import type { Slos } from '../src/slos/slos.ts'
import { Certificates } from '../src/tls/certificates.ts'
import { ScriptedProcess } from './scripted-process.ts'
import { bytesOf, type Requests } from './traffic-bytes.ts'

const timings = { ...defaultTimings, metricsTimeoutMs: 50 }

/** The parts of a master that alerts are about, without processes: these are scripted. Time stands still until it is advanced. */
export class WatchedInstance {
  readonly clock = new ManualClock(Date.now())
  readonly lines: Record<string, unknown>[] = []
  readonly logger = createLogger({
    level: 'info',
    format: 'json',
    base: {},
    destination: { write: (line) => void this.lines.push(JSON.parse(line)) },
  })
  readonly losses = new IsolateLosses()
  readonly failingTasks: string[] = []
  readonly redis = { problem: undefined as string | undefined }
  /** The latest process of each kind is the last. */
  readonly workers: ScriptedProcess[] = []
  readonly hosts: ScriptedProcess[] = []
  readonly dir: string
  parts: WatchedParts & Pick<MasterParts, 'reloader' | 'plugins'> & { readonly certificates: Certificates }
  alerts!: Alerts
  slos!: Slos
  spec: GenerationSpec
  /** The config file that the next reload finds. */
  toml = ''

  private constructor(t: TestContext, dir: string, loaded: LoadedConfig) {
    const { clock, logger } = this
    this.dir = dir
    const { config, sites, moduleDir, web } = loaded
    this.spec = { generation: 1, config, sites, moduleDir, web, loopToken: '', listen: [], tls: {} }
    const spec = () => this.spec
    const { run_dir: runDir } = config.server
    const hosts: RenderHosts = new RenderHosts({
      shared: {
        runDir,
        timings,
        clock,
        logger,
        count: () => 1,
        launch: () => this.#add(this.hosts, new ScriptedProcess()).asHost,
        handlers: {} as never,
        purgeState: () => ({ last: 0, unsettled: [] }),
        onDrained: async () => undefined,
        onExit: () => undefined,
        onDeath: () => undefined,
      },
      own: {
        runDir,
        timings,
        clock,
        logger,
        purgeState: () => ({ last: 0, unsettled: [] }),
        purge: async () => assert('no purge'),
        sharedScript: async () => assert('no cache is shared'),
        changed: async () => undefined,
        onAttached: async () => undefined,
        onServing: () => undefined,
        onDrained: async () => undefined,
        onExit: () => undefined,
        isolateLost: () => undefined,
        log: () => undefined,
      },
      target: spec,
      onEndpoints: async () => undefined,
    })
    const workers: WorkerFleet = new WorkerFleet({
      count: 1,
      launch: (_id, handlers) => {
        const onCommit = (generation: number) => void handlers.ready({ generation, pid: 1 }, undefined as never)
        return this.#add(this.workers, new ScriptedProcess(onCommit)).asWorker
      },
      handlers: () => ({}) as never,
      target: () => ({ spec: spec(), hosts: hosts.endpoints }),
      proofs: () => [],
      joinState: () => ({
        purges: { last: 0, unsettled: [] },
        revocations: { tokens: [], users: [], issuedBefore: 0 },
        pluginsOff: [],
      }),
      timings,
      clock,
      logger,
      onDrained: async () => undefined,
      onExit: () => undefined,
      onReady: () => undefined,
      onDeath: () => this.parts.metrics.countDeath('worker'),
    })
    const none = { certificates: async () => [], problems: () => [], missing: () => [], renew: () => false }
    const certificates = new Certificates(join(dir, 'tls'), none, clock)
    const serve = (next: GenerationSpec) => async () => {
      this.spec = next
    }
    const target = { prepare: async (next: GenerationSpec) => serve(next), abandon: () => undefined }
    const load = () => this.#load()
    const reloader = new Reloader({
      load,
      loadPreview: load,
      current: spec,
      target,
      certificates,
      sockets: new InheritedSockets([]),
      started: Promise.resolve(),
      onFailed: () => undefined,
      clock,
      logger,
    })
    const isr = { entries: () => 0, evictions: () => 0, shares: () => [] }
    const up = () => ({ worker: workers.ready.length, host: hosts.measured.length })
    const proxy = { shares: () => [] }
    const rateLimits = { counted: () => 0, localSlices: () => 0 }
    const figures = { generation: () => 1, includesProcess: () => false, up, isr, proxy, rateLimits, droppedLines: () => 0 }
    const metrics = new MetricsCollector(timings.metricsTimeoutMs, figures)
    const caches = { instances: this.redis }
    const tasks = { failing: this.failingTasks }
    const analytics = this.#openAnalytics(config.server.state_dir)
    const plugins = new SwitchedPlugins({ spec, announce: async () => undefined, logger })
    const silences = { of: () => undefined }
    const { losses } = this
    const watched = { losses, certificates, analytics, caches, tasks, plugins, silences }
    this.parts = { spec, workers, hosts, reloader, metrics, ...watched }
    this.#watch()
    t.after(() => this.parts.analytics.close())
    t.after(() => Promise.all([workers.stop(), hosts.stop()]))
  }

  /** Starts an instance with this configuration. */
  static async start(t: TestContext, toml = '', files: Readonly<Record<string, string>> = {}): Promise<WatchedInstance> {
    const dir = tempDir(t, 'alerts')
    writeFiles(dir, { 'site/app/page.tsx': '', ...files, 'svc.config.toml': toml })
    const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
    if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join('\n'))
    const { server, cache } = loaded.config
    for (const made of [server.run_dir, server.state_dir, cache.dir]) mkdirSync(made, { recursive: true, mode: 0o700 })
    t.after(() => rmSync(server.run_dir, { recursive: true, force: true }))
    const instance = new WatchedInstance(t, dir, loaded)
    await Promise.all([instance.parts.workers.start(), instance.parts.hosts.start()])
    return instance
  }

  get config(): Config {
    return this.spec.config
  }

  /** Puts plugins into service. */
  servePlugins(plugins: readonly Pick<PluginSpec, 'name' | 'hash' | 'enabled'>[]): void {
    const specs = plugins.map((plugin) => ({ ...plugin, file: `/${plugin.name}.mjs` }))
    this.spec = { ...this.spec, plugins: { directory: '/', plugins: specs, sources: [] } }
  }

  #add(list: ScriptedProcess[], process: ScriptedProcess): ScriptedProcess {
    list.push(process)
    return process
  }

  #load() {
    writeFiles(this.dir, { 'svc.config.toml': this.toml })
    return loadConfig({ file: 'svc.config.toml', env: {}, cwd: this.dir, isRoot: false })
  }

  #openAnalytics(stateDir: string): Analytics {
    const analytics = new Analytics({ stateDir, clock: this.clock, logger: this.logger })
    analytics.start()
    return analytics
  }

  #watch(): void {
    const { clock, logger } = this
    Object.assign(
      this,
      makeAlerts(() => this.parts, { clock, logger }, { push: () => undefined }),
    )
  }

  /** Another master in place of one that was stopped. */
  async restart(): Promise<void> {
    await this.parts.analytics.close()
    this.parts = { ...this.parts, analytics: this.#openAnalytics(this.config.server.state_dir) }
    this.#watch()
  }

  /** Requests of a minute, `times` times; the time passes. */
  async serve(times: number, ...requests: Requests[]): Promise<void> {
    for (let i = 0; i < times; i++) {
      this.parts.analytics.add({ at: this.clock.now(), bytes: bytesOf(requests) })
      this.clock.advance(60_000)
      // Everything due has been written.
      await this.parts.analytics.since()
    }
  }

  /** Changes the configuration in service, as a reload does. */
  async reload(toml: string): Promise<boolean> {
    this.toml = toml
    return (await this.parts.reloader.reload()).ok
  }

  /** Ends the latest process of a list again and again. */
  async crash(list: ScriptedProcess[], times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const last = list.at(-1)
      last?.kill()
      await waitFor('the next process', () => {
        this.clock.advance(100)
        return list.at(-1) !== last
      })
    }
  }

  /** Has the latest host report its pools. */
  async report(...pools: ScriptedProcess['pools']): Promise<void> {
    const host = this.hosts.at(-1)
    if (host === undefined) throw new Error('there is a host')
    host.pools = pools
    const pinged = new Promise((resolve) => host.events.once('pinged', resolve))
    this.clock.advance(timings.pingIntervalMs)
    await pinged
  }

  /** Evaluates the alerts, after some time. */
  async evaluate(afterMs = 0): Promise<AlertReport['alerts']> {
    this.clock.advance(afterMs)
    await this.alerts.evaluate()
    return this.alerts.report().alerts
  }

  /** The state of the first alert of a name after an evaluation. */
  async stateOf(name: string, afterMs = 0): Promise<AlertReport['alerts'][number]> {
    const alert = (await this.evaluate(afterMs)).find((one) => one.name === name)
    return alert ?? assert(`there is an alert ${name}`)
  }

  /** Messages of the log about alerts, with their names. */
  get news(): string[] {
    return this.lines.flatMap(({ alert, msg }) => (/alert/.test(String(msg)) ? [`${alert}: ${msg}`] : []))
  }
}

function assert(message: string): never {
  throw new Error(message)
}

/** A metric as a process has it. */
export function metricOf(type: string, name: string, values: MetricJson['values']): MetricJson {
  return { name, help: '', type, aggregator: 'sum', values }
}
