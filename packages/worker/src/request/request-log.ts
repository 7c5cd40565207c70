import { performance } from 'node:perf_hooks'
import type { Refusal } from '@svc/engine'
import type { HttpRequest } from '@svc/http'
import {
  type AccessEntry,
  type AccessLog,
  type HttpMetrics,
  type HttpSeries,
  type LogNames,
  latencyBin,
  type RequestTrace,
} from '@svc/telemetry'
import type { WorkerTraffic } from '../traffic/worker-traffic.ts'
import type { RequestContext, RequestOutcome } from './request-context.ts'
import { cacheWord } from './response-head.ts'

/** A request that L0 answered, as far as it is logged. */
export type HitRequest = Pick<AccessEntry, 'site' | 'method' | 'path' | 'client' | 'userAgent' | 'referrer' | 'httpVersion'> & {
  /** Undefined: it has none yet. */
  readonly requestId: string | undefined
  readonly logs: LogNames
  /** Undefined: it is not sampled. */
  readonly trace: RequestTrace | undefined
  readonly pathGroup: string
  readonly scheme: string
  readonly host: string
}

/** Metric series of one method and path group, found without joining strings for each request. */
class SeriesCache {
  readonly #metrics: HttpMetrics
  #lastMethod = ''
  #lastGroup = ''
  #last: HttpSeries | undefined

  constructor(metrics: HttpMetrics) {
    this.#metrics = metrics
  }

  get(method: string, group: string): HttpSeries {
    if (this.#last !== undefined && this.#lastMethod === method && this.#lastGroup === group) return this.#last
    this.#lastMethod = method
    this.#lastGroup = group
    this.#last = this.#metrics.series(method, group)
    return this.#last
  }
}

/** Status that nginx made customary for "the client went away before it was answered". */
const CLIENT_CLOSED_REQUEST = 499

/** Writes down finished requests: metrics, analytics and, where it is on, the access log. */
export class RequestLog {
  readonly #series: SeriesCache
  readonly #accessLog: AccessLog | undefined
  readonly #traffic: WorkerTraffic
  /** Status that the engine gave requests that were in the pipeline already. */
  readonly #refused = new WeakMap<HttpRequest, number>()

  constructor(metrics: HttpMetrics, accessLog: AccessLog | undefined, traffic: WorkerTraffic) {
    this.#series = new SeriesCache(metrics)
    this.#accessLog = accessLog
    this.#traffic = traffic
  }

  /** Writes down a request that the engine answered by itself; one that is in the pipeline when it is finished there. */
  refused({ request, method, target, status, remoteAddress }: Refusal): void {
    if (request !== undefined) {
      this.#refused.set(request, status)
      return
    }
    this.#series.get(method, 'other').record(status, 0, 0, 0)
    this.#accessLog?.write({
      startedAt: Date.now(),
      requestId: '',
      site: '',
      method,
      path: target,
      status,
      bytes: 0,
      durationMs: 0,
      cache: '',
      client: remoteAddress,
      userAgent: '',
      referrer: '',
      httpVersion: '1.1',
    })
  }

  /** True if there is an access log. */
  get isWritten(): boolean {
    return this.#accessLog !== undefined
  }

  /** Writes down a request that L0 has answered. */
  hit(request: HitRequest, status: number, bytes: number, durationMs: number): void {
    if (this.#accessLog === undefined) return
    const { requestId, site, method, path, client, userAgent, referrer, httpVersion, trace, logs } = request
    const startedAt = Date.now() - durationMs
    this.#accessLog.hit(
      { startedAt, requestId, site, method, path, status, bytes, durationMs, client, userAgent, referrer, httpVersion, trace },
      logs,
    )
  }

  /** To be called while there is a connection: reads the facts that are available only then. */
  began(request: HttpRequest): void {
    request.remoteAddress
  }

  /** Writes down a request that went through the pipeline. */
  finished(context: RequestContext, isAborted: boolean): void {
    if (!context.isLogged) return
    const durationMs = performance.now() - context.startedAt
    const { request } = context
    const { status, bytes } = this.#outcome(context, isAborted)
    this.#series.get(request.method, context.pathGroup).record(status, durationMs, context.exchange.body.length ?? 0, bytes)
    this.#count(context, { status, bytes }, durationMs)
    context.recordFlow(status, durationMs, isAborted && this.#refused.has(context.exchange.request))
    if (this.#accessLog === undefined || context.accessLogs.length === 0) return
    const entry = {
      startedAt: Date.now() - durationMs,
      requestId: context.requestId,
      site: context.site?.config.id ?? '',
      method: request.method,
      path: context.exchange.request.rawPath,
      status,
      bytes,
      durationMs,
      cache: cacheWord(context.cacheStatus),
      client: context.client.address,
      userAgent: request.header('user-agent') ?? '',
      referrer: request.header('referer') ?? '',
      httpVersion: request.httpVersion,
      trace: context.trace?.isSampled === true ? context.trace : undefined,
    }
    this.#accessLog.write(entry, context.accessLogs)
  }

  /** Counts a request of a site for analytics. */
  #count(
    { site, request, exchange, client, cacheStatus, isOpenEnded }: RequestContext,
    outcome: RequestOutcome,
    ms: number,
  ): void {
    if (site === undefined) return
    const counter = this.#traffic.of(site.config.id)
    counter.record(outcome.status, outcome.bytes, isOpenEnded ? undefined : latencyBin(ms))
    if (cacheStatus.startsWith('svc-isr; hit')) counter.recordHit('isr')
    else if (cacheStatus.startsWith('svc-proxy; hit')) counter.recordHit('proxy')
    else if (request.method === 'GET' || request.method === 'HEAD') counter.totals.recordMiss()
    const weight = counter.takeWeight()
    if (weight === 0) return
    const { path } = exchange.request
    const origin = `${client.scheme}://${client.host}`
    counter.recordNames({ path, referrer: request.header('referer'), origin, client: client.address }, weight)
  }

  #outcome(context: RequestContext, isAborted: boolean): RequestOutcome {
    const sent = context.outcome()
    if (!isAborted) return sent
    const refused = this.#refused.get(context.exchange.request)
    if (refused !== undefined) return { status: refused, bytes: 0 }
    return sent.status === 0 ? { status: CLIENT_CLOSED_REQUEST, bytes: 0 } : sent
  }
}
