import { isDeepStrictEqual } from 'node:util'
import type { ExportResult } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics'
import { asError, type Clock } from '@svc/core'
import { type MetricJson, sumMetrics } from '../metrics/metric-set.ts'
import {
  type CollectorSettings,
  CollectorState,
  collectorSettings,
  collectorTarget,
  resourceOf,
  type TelemetryConfig,
} from './collector.ts'
import { loadMetricExporter } from './exporters.ts'
import { metricData } from './metric-data.ts'

const EVERY_MS = 60_000

/** Dependencies of a `MetricsPush`. */
interface MetricsPushOptions {
  /** The one in service. */
  readonly config: () => TelemetryConfig
  /** The metrics of each process. */
  readonly collect: () => Promise<ReadonlyArray<readonly MetricJson[]>>
  /** Attributes of the process. */
  readonly process: Readonly<Record<string, string | number>>
  readonly clock: Clock
  /** Called when the collector fails (with the error) or takes metrics again. `url` has no credentials. */
  readonly onState: (url: string, error: Error | undefined) => void
}

/** An exporter with the settings that it is for. */
interface Collector {
  readonly settings: CollectorSettings
  readonly exporter: PushMetricExporter
  readonly resource: Resource
  readonly state: CollectorState
}

/** Sends the metrics of the instance to its collector every minute, as long as it has one. */
export class MetricsPush {
  readonly #options: MetricsPushOptions
  readonly #startedAt: number
  #collector: Collector | undefined
  #cancel: (() => void) | undefined
  #isClosed = false

  constructor(options: MetricsPushOptions) {
    this.#options = options
    this.#startedAt = options.clock.now()
  }

  /** Pushes now, and a minute after the end of each push. Resolves when this one has ended; a failure is reported. */
  async start(): Promise<void> {
    await this.#push().catch((error) => this.#options.onState('the collector', asError(error)))
    if (!this.#isClosed) this.#cancel = this.#options.clock.after(EVERY_MS, () => void this.start())
  }

  /** Stops pushing; a push in flight is aborted. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel?.()
    await this.#drop()
  }

  async #push(): Promise<void> {
    const settings = collectorSettings(this.#options.config())
    const { otlp_endpoint: endpoint } = settings
    if (this.#collector !== undefined && !isDeepStrictEqual(this.#collector.settings, settings)) await this.#drop()
    if (endpoint === undefined) return
    this.#collector ??= await this.#connect(settings, endpoint)
    const collector = this.#collector
    const error = await this.#export(collector).catch(asError)
    if (!this.#isClosed) collector.state.noted(error)
  }

  async #connect(settings: CollectorSettings, endpoint: string): Promise<Collector> {
    const { onState, process } = this.#options
    const target = collectorTarget(endpoint, settings.otlp_protocol, 'metrics')
    const [exporter, resource] = await Promise.all([loadMetricExporter(target), resourceOf(settings, process)])
    return { settings, exporter, resource, state: new CollectorState((error) => onState(target.url, error)) }
  }

  /** Resolves with the error of a failed export. */
  async #export({ exporter, resource }: Collector): Promise<Error | undefined> {
    const { collect, clock } = this.#options
    const sums = await sumMetrics(await collect())
    const period = { startTime: hrTime(this.#startedAt), endTime: hrTime(clock.now()) }
    const metrics = metricData(sums, period)
    const { promise, resolve } = Promise.withResolvers<ExportResult>()
    exporter.export({ resource, scopeMetrics: [{ scope: { name: 'svc' }, metrics }] }, resolve)
    const { code, error } = await promise
    return code === 0 ? undefined : (error ?? new Error('the collector refused the metrics'))
  }

  async #drop(): Promise<void> {
    const collector = this.#collector
    this.#collector = undefined
    await collector?.exporter.shutdown().catch(() => undefined)
  }
}

function hrTime(ms: number): [seconds: number, nanoseconds: number] {
  return [Math.floor(ms / 1000), Math.floor((ms % 1000) * 1e6)]
}
