import { performance } from 'node:perf_hooks'
import { type ReadyHead, type Refusal, readyFields } from '@svc/engine'
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
import type { HitLogs, LoggedRequest, RequestOutcome } from './formatted-logs.ts'
import type { RequestContext } from './request-context.ts'
import { cacheWord } from './response-head.ts'

/** A request that L0 answered, as far as it is logged. */
export type HitRequest = Pick<AccessEntry, 'site' | 'method' | 'path' | 'client' | 'userAgent' | 'referrer' | 'httpVersion'> & {
  /** Undefined: it has none yet. */
  readonly requestId: string | undefined
  readonly logs: LogNames
  /** Further logs and the request as they read it; undefined: there are none. */
  readonly formatted: { readonly logs: HitLogs; readonly request: LoggedRequest; readonly head: ReadyHead } | undefined
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
    const { requestId, site, method, path, client, userAgent, referrer, httpVersion, trace, logs, formatted } = request
    const startedAt = Date.now() - durationMs
    const facts = { site, method, path, status, bytes, durationMs, client, userAgent, referrer, httpVersion, trace }
    const entry = { startedAt, requestId, ...facts }
    if (logs.length > 0) this.#accessLog.hit(entry, logs)
    if (formatted === undefined) return
    const end = {
      ...{ status, bytes, durationMs, isComplete: true },
      // Rarely read.
      get headers() {
        return readyFields(formatted.head)
      },
    }
    for (const { path: log, text } of formatted.logs.linesOf(formatted.request, end)) {
      if (text === undefined) this.#accessLog.hit(entry, [log])
      else this.#accessLog.writeLine(log, text)
    }
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
    const outcome = this.#outcome(context, isAborted)
    const { status, bytes } = outcome
    this.#series.get(request.method, context.pathGroup).record(status, durationMs, context.exchange.body.length ?? 0, bytes)
    this.#count(context, { status, bytes }, durationMs)
    context.recordFlow(status, durationMs, isAborted && this.#refused.has(context.exchange.request))
    const { accessLogs, formattedLogs } = context
    if (this.#accessLog === undefined || (accessLogs.length === 0 && formattedLogs === undefined)) return
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
    if (accessLogs.length > 0) this.#accessLog.write(entry, accessLogs)
    for (const { path, text } of formattedLogs?.linesOf({ ...outcome, durationMs, isComplete: !isAborted }) ?? []) {
      if (text === undefined) this.#accessLog.write(entry, [path])
      else this.#accessLog.writeLine(path, text)
    }
  }

  /** Counts a request of a site for analytics. */
  #count(
    { site, request, exchange, client, cacheStatus, isOpenEnded }: RequestContext,
    outcome: Pick<RequestOutcome, 'status' | 'bytes'>,
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
    if (refused !== undefined) return { status: refused, bytes: 0, headers: [] }
    return sent.status === 0 ? { status: CLIENT_CLOSED_REQUEST, bytes: 0, headers: [] } : sent
  }
}
