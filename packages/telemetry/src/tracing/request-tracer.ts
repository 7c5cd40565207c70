import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@svc/core'
import { type CollectorSettings, collectorSettings, type TelemetryConfig } from '../otlp/collector.ts'
import { type SpanCounts, SpanQueue, type SpanQueueOptions } from './span-queue.ts'
import type { SpanRecord } from './span-record.ts'
import { parseTraceparent, RequestTrace } from './trace-context.ts'

const FLUSH_TIMEOUT_MS = 3_000
/** Clients choose how many requests there are. A worker spends some 10 ms of CPU time on so many spans of L0 hits. */
const MAX_SAMPLED_PER_SECOND = 500

/** The fields of a request that tracing reads. */
type FieldReader = (name: 'traceparent' | 'tracestate') => string | undefined

/** Dependencies of a `RequestTracer`. */
interface RequestTracerOptions extends Omit<SpanQueueOptions, 'counts'> {
  readonly clock: Pick<Clock, 'monotonic'>
}

/** Decides at the beginning of each request if it is traced, and exports the spans of those that are. */
export class RequestTracer {
  /** Spans since the process began. */
  readonly counts: SpanCounts = { exported: 0, dropped: 0, limited: 0 }
  /** False: there is no collector, and no request has a trace. Written here alone. */
  isOn = false
  readonly #options: RequestTracerOptions
  #secondBegan = Number.NEGATIVE_INFINITY
  #sampledInSecond = 0
  #rate = 0
  #settings: CollectorSettings | undefined
  #queue: SpanQueue | undefined
  #loaded: { readonly settings: CollectorSettings; readonly makeQueue: () => SpanQueue } | undefined

  constructor(options: RequestTracerOptions) {
    this.#options = options
  }

  /** Loads all that a configuration needs, before it takes effect. */
  async prepare(config: TelemetryConfig): Promise<void> {
    const settings = collectorSettings(config)
    const { otlp_endpoint: endpoint } = settings
    if (endpoint === undefined || isDeepStrictEqual(settings, this.#settings)) return
    this.#loaded = { settings, makeQueue: await SpanQueue.load(settings, endpoint, { ...this.#options, counts: this.counts }) }
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

  /** True for so many of all requests as `sample_rate` says, within the limit. The client has no influence on it. */
  isPicked(): boolean {
    return Math.random() < this.#rate && this.#isWithinLimit()
  }

  /**
   * The trace of a request. A client that is no trusted proxy continues its trace, but does not decide that it is sampled.
   * @param isPicked decision where there is no caller to decide; undefined: it is made now
   */
  begin(field: FieldReader, isTrusted: boolean, isPicked?: boolean): RequestTrace {
    const parent = parseTraceparent(field('traceparent'))
    const isSampled =
      isTrusted && parent !== undefined ? parent.isSampled && this.#isWithinLimit() : (isPicked ?? this.isPicked())
    return new RequestTrace(parent, parent && field('tracestate'), isSampled)
  }

  #isWithinLimit(): boolean {
    const now = this.#options.clock.monotonic()
    if (now - this.#secondBegan >= 1000) {
      this.#secondBegan = now
      this.#sampledInSecond = 0
    }
    if (this.#sampledInSecond++ < MAX_SAMPLED_PER_SECOND) return true
    this.counts.limited++
    return false
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
