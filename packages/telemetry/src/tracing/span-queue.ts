import type { ExportResult } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import type { BatchSpanProcessor, ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import { type CollectorSettings, CollectorState, collectorTarget, EXPORT_TIMEOUT_MS, resourceOf } from '../otlp/collector.ts'
import { loadSpanExporter } from '../otlp/exporters.ts'
import type { SpanRecord } from './span-record.ts'

/** Spans that wait or are in flight: about 4 MB. */
const MAX_SPANS = 2048
const MAX_BATCH = 512

/** Spans of a process since it began. */
export interface SpanCounts {
  exported: number
  dropped: number
  /** Requests without a span, since too many had one. */
  limited: number
}

/** Dependencies of a queue. */
export interface SpanQueueOptions {
  /** Attributes of the process that the spans are of. */
  readonly process: Readonly<Record<string, string | number>>
  readonly counts: SpanCounts
  /** So long a span waits for others at most. */
  readonly batchDelayMs: number
  /** Called when the collector fails (with the error) or takes spans again. `url` has no credentials. */
  readonly onState: (url: string, error: Error | undefined) => void
}

const SCOPE = { name: 'svc' }
/** Values of OTLP; the SDK's own are in a module that is loaded only when there is a collector. */
const KINDS = { internal: 0, server: 1, client: 2 } as const
const STATUS_UNSET = 0
const STATUS_ERROR = 2
const SUCCESS = 0

/** Spans on their way to a collector. Never blocks: a span for which there is no room is dropped and counted. */
export class SpanQueue {
  readonly #processor: BatchSpanProcessor
  readonly #resource: Resource
  readonly #counts: SpanCounts
  #pending = 0
  #isClosed = false

  private constructor(processor: BatchSpanProcessor, resource: Resource, counts: SpanCounts) {
    this.#processor = processor
    this.#resource = resource
    this.#counts = counts
  }

  /** Loads the SDK and the exporter of the collector's protocol. Does not connect. */
  static async load(settings: CollectorSettings, endpoint: string, options: SpanQueueOptions): Promise<() => SpanQueue> {
    const target = collectorTarget(endpoint, settings.otlp_protocol, 'traces')
    const [sdk, resource, makeExporter] = await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      resourceOf(settings, options.process),
      loadSpanExporter(target),
    ])
    return () => {
      const state = new CollectorState((error) => options.onState(target.url, error))
      const exporter = makeExporter()
      const limits = {
        maxQueueSize: MAX_SPANS,
        maxExportBatchSize: MAX_BATCH,
        scheduledDelayMillis: options.batchDelayMs,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS + 1_000,
      }
      const noted = (count: number, result: ExportResult) => {
        queue.#noted(count, result.code === SUCCESS)
        state.noted(result.code === SUCCESS ? undefined : (result.error ?? new Error('the collector refused the spans')))
      }
      const processor = new sdk.default.BatchSpanProcessor(countedExporter(exporter, noted), limits)
      const queue = new SpanQueue(processor, resource, options.counts)
      return queue
    }
  }

  add(record: SpanRecord): void {
    if (this.#pending >= MAX_SPANS || this.#isClosed) {
      this.#counts.dropped++
      return
    }
    this.#pending++
    this.#processor.onEnd(readableSpan(record, this.#resource))
  }

  /** Sends the spans that wait, for at most so long; those that are left then are dropped. */
  async close(timeoutMs: number): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    // A failed export is counted by its result.
    const flushed = this.#processor.shutdown().catch(() => undefined)
    await Promise.race([flushed, late])
    clearTimeout(timer)
    this.#isClosed = true
    this.#counts.dropped += this.#pending
    this.#pending = 0
  }

  #noted(count: number, isExported: boolean): void {
    if (this.#isClosed) return
    this.#pending -= count
    if (isExported) this.#counts.exported += count
    else this.#counts.dropped += count
  }
}

function countedExporter(inner: SpanExporter, noted: (count: number, result: ExportResult) => void): SpanExporter {
  return {
    export(spans, done) {
      inner.export(spans, (result) => {
        noted(spans.length, result)
        done(result)
      })
    },
    shutdown: () => inner.shutdown(),
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
  }
}

type HrTime = [seconds: number, nanoseconds: number]

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)]
}

function readableSpan(record: SpanRecord, resource: Resource): ReadableSpan {
  const { traceId, spanId, parentId, state, startedAt, durationMs, isParentRemote } = record
  const traceState = state === '' ? {} : { traceState: serialized(state) }
  const context = { traceId, spanId, traceFlags: 1, ...traceState }
  const parent =
    parentId === '' ? {} : { parentSpanContext: { traceId, spanId: parentId, traceFlags: 1, isRemote: isParentRemote } }
  return {
    name: record.name,
    kind: KINDS[record.kind],
    spanContext: () => context,
    ...parent,
    startTime: hrTime(startedAt),
    endTime: hrTime(startedAt + durationMs),
    duration: hrTime(durationMs),
    status: { code: record.isError ? STATUS_ERROR : STATUS_UNSET },
    attributes: record.attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

/** The state of a trace is passed on as it came. */
function serialized(state: string) {
  const same = { set: () => same, unset: () => same, get: () => undefined, serialize: () => state }
  return same
}
