import { isDeepStrictEqual } from 'node:util'
import { type CollectorSettings, collectorSettings, type TelemetryConfig } from '../otlp/collector.ts'
import { type SpanCounts, SpanQueue, type SpanQueueOptions } from './span-queue.ts'
import type { SpanRecord } from './span-record.ts'
import { parseTraceparent, RequestTrace } from './trace-context.ts'

const FLUSH_TIMEOUT_MS = 3_000

/** The fields of a request that tracing reads. */
type FieldReader = (name: 'traceparent' | 'tracestate') => string | undefined

/** Decides at the beginning of each request if it is traced, and exports the spans of those that are. */
export class RequestTracer {
  /** Spans since the process began. */
  readonly counts: SpanCounts = { exported: 0, dropped: 0 }
  /** False: there is no collector, and no request has a trace. Written here alone. */
  isOn = false
  readonly #options: SpanQueueOptions
  #rate = 0
  #settings: CollectorSettings | undefined
  #queue: SpanQueue | undefined
  #loaded: { readonly settings: CollectorSettings; readonly makeQueue: () => SpanQueue } | undefined

  constructor(options: Omit<SpanQueueOptions, 'counts'>) {
    this.#options = { ...options, counts: this.counts }
  }

  /** Loads all that a configuration needs, before it takes effect. */
  async prepare(config: TelemetryConfig): Promise<void> {
    const settings = collectorSettings(config)
    const { otlp_endpoint: endpoint } = settings
    if (endpoint === undefined || isDeepStrictEqual(settings, this.#settings)) return
    this.#loaded = { settings, makeQueue: await SpanQueue.load(settings, endpoint, this.#options) }
  }

  /** Puts a prepared configuration into effect. Spans that wait for another collector still go there. */
  apply(config: TelemetryConfig): void {
    this.#rate = config.telemetry.sample_rate
    const settings = collectorSettings(config)
    if (!isDeepStrictEqual(settings, this.#settings)) {
      void this.#queue?.close(FLUSH_TIMEOUT_MS)
      const isLoaded = isDeepStrictEqual(settings, this.#loaded?.settings)
      this.#queue = isLoaded ? this.#loaded?.makeQueue() : undefined
      this.#loaded = undefined
    }
    this.#settings = settings
    this.isOn = this.#queue !== undefined
  }

  /** True for so many of all requests as `sample_rate` says. The client has no influence on it. */
  isPicked(): boolean {
    return Math.random() < this.#rate
  }

  /**
   * The trace of a request. A client that is no trusted proxy continues its trace, but does not decide that it is sampled.
   * @param isPicked decision where there is no caller to decide
   */
  begin(field: FieldReader, isTrusted: boolean, isPicked = this.isPicked()): RequestTrace {
    const parent = parseTraceparent(field('traceparent'))
    const isSampled = isTrusted && parent !== undefined ? parent.isSampled : isPicked
    return new RequestTrace(parent, parent && field('tracestate'), isSampled)
  }

  record(span: SpanRecord): void {
    this.#queue?.add(span)
  }

  /** Sends the spans that wait, within a deadline. */
  async close(): Promise<void> {
    this.isOn = false
    const queue = this.#queue
    this.#queue = undefined
    await queue?.close(FLUSH_TIMEOUT_MS)
  }
}
