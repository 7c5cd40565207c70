import { HistogramFamily, NumberFamily, type Series } from './families.ts'
import type { MetricSet } from './metric-set.ts'

/** Upper bounds in seconds of every duration histogram. */
export const DURATION_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
/** Upper bounds in bytes of the size histograms. */
const SIZE_BUCKETS: readonly number[] = [256, 1024, 4096, 16384, 65536, 262144, 1048576, 10485760]

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'])

/** The method as a label: the registered nine (RFC 9110 section 9, RFC 5789), else "OTHER". */
function methodLabel(method: string): string {
  return METHODS.has(method) ? method : 'OTHER'
}

/** Counts of one pair of method and path group. Look it up once per route and keep it. */
export interface HttpSeries {
  /** Counts one finished request. Sizes are body bytes. */
  record(status: number, durationMs: number, requestBytes: number, responseBytes: number): void
}

/** Most path groups with series of their own; further ones count as "other". */
const MAX_PATH_GROUPS = 500

/** The `http_*` metrics of a worker. */
export class HttpMetrics {
  readonly requests: NumberFamily
  readonly duration: HistogramFamily
  readonly requestSize: HistogramFamily
  readonly responseSize: HistogramFamily
  /** Open client connections: change `value` as they come and go. */
  readonly activeConnections: Series
  /** Connections accepted, and requests in flight. */
  readonly connections: Series
  readonly inFlight: Series
  readonly #series = new Map<string, Map<string, HttpSeries>>()

  constructor(metrics: MetricSet) {
    const requests = { name: 'http_requests_total', help: 'Requests answered.', labels: ['method', 'status', 'path_group'] }
    this.requests = metrics.add(new NumberFamily('counter', requests))
    const time = 'Time from the end of the request head to the end of the response.'
    const duration = { name: 'http_request_duration_seconds', help: time, labels: ['method', 'path_group'] }
    this.duration = metrics.add(new HistogramFamily({ ...duration, buckets: DURATION_BUCKETS }))
    const size = (name: string, help: string) =>
      metrics.add(new HistogramFamily({ name, help, labels: ['method'], buckets: SIZE_BUCKETS }))
    this.requestSize = size('http_request_size_bytes', 'Size of request bodies.')
    this.responseSize = size('http_response_size_bytes', 'Size of response bodies sent.')
    this.activeConnections = metrics
      .add(new NumberFamily('gauge', { name: 'http_active_connections', help: 'Open client connections.' }))
      .series()
    this.connections = metrics
      .add(new NumberFamily('counter', { name: 'svc_http_connections_total', help: 'Client connections accepted.' }))
      .series()
    this.inFlight = metrics
      .add(new NumberFamily('gauge', { name: 'svc_http_requests_in_flight', help: 'Requests without a whole response.' }))
      .series()
  }

  /** The counts of a method as sent and a path group: a route pattern, `static`, `proxy`, `builtin` or `other`. */
  series(method: string, pathGroup: string): HttpSeries {
    let byMethod = this.#series.get(pathGroup)
    if (byMethod === undefined) {
      if (this.#series.size >= MAX_PATH_GROUPS && pathGroup !== 'other') return this.series(method, 'other')
      byMethod = new Map()
      this.#series.set(pathGroup, byMethod)
    }
    const label = methodLabel(method)
    let series = byMethod.get(label)
    if (series === undefined) {
      series = this.#counted(label, pathGroup)
      byMethod.set(label, series)
    }
    return series
  }

  #counted(method: string, pathGroup: string): HttpSeries {
    const byStatus = new Map<number, Series>()
    const time = this.duration.series(method, pathGroup)
    const requestSize = this.requestSize.series(method)
    const responseSize = this.responseSize.series(method)
    return {
      record: (status, durationMs, requestBytes, responseBytes) => {
        let count = byStatus.get(status)
        if (count === undefined) {
          count = this.requests.series(method, String(status), pathGroup)
          byStatus.set(status, count)
        }
        count.value++
        time.observe(durationMs / 1000)
        requestSize.observe(requestBytes)
        responseSize.observe(responseBytes)
      },
    }
  }
}
