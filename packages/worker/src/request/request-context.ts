import type { L0Offer } from '@svc/cache'
import { asError, systemClock } from '@svc/core'
import type { BodyWriter, ClientInfo, HeaderList, HttpExchange, HttpRequest, ResponseHead, StreamOptions } from '@svc/http'
import { type RequestTrace, type RequestTracer, serverLog } from '@svc/telemetry'
import { type CompressionTerms, compressComplete, compressStream, type Encode } from '../compression/index.ts'
import { withAffinity } from '../generation/affinity.ts'
import type { VhostMatch } from '../generation/host-routing.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { SiteRuntime } from '../generation/site-runtime.ts'
import type { BodyFilter } from './body-filter.ts'
import { ClientBody } from './client-body.ts'
import { endedSpans } from './ended-spans.ts'
import { type EventStream, type EventStreams, isEventStream } from './event-streams.ts'
import type { EndedRequest, FlowLog, StageTrail } from './flow-log.ts'
import type { FormattedLogs, RequestOutcome } from './formatted-logs.ts'
import { HeldWriter } from './held-writer.ts'
import { L0Capture, type L0Passage } from './l0-capture.ts'
import { offeringOf } from './l0-offering.ts'
import { type Pace, respondAtPace, streamAtPace } from './paced-writer.ts'
import type { PluginPassage } from './plugin-passage.ts'
import type { RealIp } from './real-ip.ts'
import { finalHead, withoutSessionFields, withoutSessionTrailers } from './response-head.ts'
import type { StageResult } from './stage-result.ts'

export type { StageResult } from './stage-result.ts'

const empty = new Uint8Array(0)

/** State shared by all contexts. */
export interface ContextTools {
  makeRequestId(): string
  readonly l0: Pick<L0Passage, 'admission' | 'takeOutcome'>
  /** Ends streams of events when the server drains. */
  readonly eventStreams: EventStreams
  readonly flows: FlowLog
  readonly tracer: Pick<RequestTracer, 'isOn' | 'begin' | 'record'>
  /** Called for failures inside the service, with the status of the response to them. */
  reportFailure(context: RequestContext, error: Error, status: number): void
}

/** One request on its way through the pipeline, with the results of its stages, and the generation that it began with. */
export class RequestContext {
  readonly exchange: HttpExchange
  /** As rewriting left it. `exchange.request` is the request as the client sent it, which L0 and the access log use. */
  request: HttpRequest
  readonly body: ClientBody
  readonly generation: ServingGeneration
  client: ClientInfo
  /** How vhost files find the client of a request for the same; undefined: they name no proxies. */
  realIp: RealIp | undefined
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number
  site: SiteRuntime | undefined
  /** The server of a vhost file that the host led to, with the captures of its name. */
  vhost: VhostMatch | undefined
  /** Bucket in metrics: a route pattern, "static", "proxy", "builtin" or "other". */
  pathGroup = 'other'
  /** How fast the body may be sent, asked when it begins; undefined: as fast as possible. */
  pace: (() => Pace | undefined) | undefined
  /** Its count by `limit_conn`, which ends with it. */
  counted: { release(): void } | undefined
  /** True if the rate limit has let it pass. */
  isAdmitted = false
  /** True for a request that the service makes of itself. */
  isOwn = false
  /** False for probes: they are neither logged nor counted as traffic. */
  isLogged = true
  /** Access logs that it is written to, where there is one. */
  accessLogs = serverLog
  /** Further logs that it is written to, as its location says. */
  formattedLogs: FormattedLogs | undefined
  /** Fields that middleware wants on the response, whatever answers. */
  responseHeaders: readonly (readonly [string, string])[] = []
  /** Fields that route rules set on the response, for any handler, over any other value of them. */
  ruleHeaders: HeaderList = []
  /** Changes the head of whatever answers, before anything else is added to it. */
  shapeHead: ((head: ResponseHead) => ResponseHead) | undefined
  /** Shows a failure by a page of its own. False: there is none for this status. */
  showFailure: ((status: number) => boolean) | undefined
  /** Undefined: it has not come to plugins, or there are none. */
  plugins: PluginPassage | undefined
  /** True if a plugin has changed its target or its fields: caches behind must not give the response to others. */
  isChangedByPlugin = false
  /** True if errors are answered with short pages of HTML: those of vhost files are. */
  hasPlainErrors = false
  /** True if the response says nothing of the caches that it passes. */
  hidesCacheStatus = false
  /** True if answers may be compressed here. */
  mayCompress = true
  /** Terms of a location; undefined: those of the server. */
  compression: CompressionTerms | undefined
  /** Terms of a request on which L0 may answer it like this one; undefined: those of `compression`. */
  l0Terms: CompressionTerms | undefined
  /** Changes bodies before they are compressed. */
  bodyFilter: BodyFilter | undefined
  /** The member of the cache behind the pipeline in the Cache-Status field; "": no cache was queried. */
  cacheStatus = ''
  /** Undefined: there is no collector. */
  readonly trace: RequestTrace | undefined
  readonly #tools: ContextTools
  readonly #l0 = new L0Capture()
  #onClosed: ((isAborted: boolean) => void) | undefined
  #ending: 'none' | 'written' | 'aborted' = 'none'
  #requestId: string | undefined
  #status = 0
  #sentHeaders: HeaderList = []
  #bytes = 0
  #events: EventStream | undefined
  #trail: StageTrail | undefined
  #wasCut = false

  constructor(exchange: HttpExchange, generation: ServingGeneration, client: ClientInfo, tools: ContextTools) {
    this.exchange = exchange
    this.request = exchange.request
    this.body = new ClientBody(exchange.body)
    this.generation = generation
    this.client = client
    this.startedAt = systemClock.turn()
    this.#tools = tools
    this.trace = tools.tracer.isOn ? tools.tracer.begin((name) => exchange.request.header(name), client.isPeerTrusted) : undefined
    this.enter('router', tools.l0.takeOutcome())
  }

  /** Made when something first needs it; taken from the request when a trusted proxy sent one. */
  get requestId(): string {
    this.#requestId ??=
      (this.client.isPeerTrusted ? this.request.header('x-request-id') : undefined) ?? this.#tools.makeRequestId()
    return this.#requestId
  }

  /** Notes for its flow that the request enters a stage. `outcome`: how the stage before it went. */
  enter(
    stage: 'limiter' | 'waf' | 'middleware' | 'router' | 'isr' | 'lease' | 'render' | 'upstream' | 'write' | `plugin:${string}`,
    outcome = 'ok',
  ): void {
    if (this.#ending === 'none') this.#trail = this.#tools.flows.enter(this.#trail, stage, outcome)
  }

  /** Notes for its flow that its render, or its middleware, waits for a place (true), or has one (false). */
  queued(isWaiting: boolean): void {
    if (this.#ending === 'none') this.#trail = this.#tools.flows.queued(this.#trail, isWaiting)
  }

  /** Records the flow of the request, which has ended, if it is one to record. `isRefused`: the engine aborted it. */
  recordFlow(status: number, durationMs: number, isRefused: boolean): void {
    const { method, rawPath } = this.exchange.request
    const ended: EndedRequest = {
      trail: this.#trail,
      slowMs: this.generation.config.obs.slow_ms,
      mayBeSlow: !this.isOpenEnded,
      isFailed: status >= 500 || isRefused || this.#wasCut,
      isAborted: this.#ending === 'aborted' || this.#wasCut,
      startedAt: this.startedAt,
      durationMs,
      status,
      site: this.site?.config.id ?? '',
      method,
      path: rawPath,
      requestId: () => this.requestId,
    }
    if (this.trace?.isSampled === true)
      for (const span of endedSpans(this, this.trace, ended, this.#bytes)) this.#tools.tracer.record(span)
    this.#tools.flows.ended(ended)
    this.#trail = undefined
  }

  /** True for a WebSocket and for a stream of events: they last as long as their clients want them to. */
  get isOpenEnded(): boolean {
    return this.#events !== undefined || this.#status === 101
  }

  get hasEnded(): boolean {
    return this.#ending !== 'none'
  }

  get isAnswered(): boolean {
    return this.#status !== 0
  }

  outcome(): RequestOutcome {
    return { status: this.#status, bytes: this.#bytes, headers: this.#sentHeaders }
  }

  /** Sets the listener for the end of the exchange; it is called at once if the exchange has ended. A later call replaces it. */
  onClosed(listener: (isAborted: boolean) => void): void {
    if (this.#ending === 'none') this.#onClosed = listener
    else listener(this.#ending === 'aborted')
  }

  /** False if L0 is off, or the response is kept out of it: it need not be offered. */
  get mayEnterL0(): boolean {
    return !this.#l0.isWithdrawn && this.#tools.l0.admission !== undefined
  }

  /**
   * Offers the response to L0, before it is sent. It is taken if it is of a kind that L0 keeps, if it has been requested before,
   * and if no stage withdraws it. With HEAD, the response to GET is offered.
   * @returns true if L0 wants it
   */
  offerToL0(offer: L0Offer): boolean {
    const { admission } = this.#tools.l0
    if (admission === undefined || this.#l0.isWithdrawn) return false
    return this.#l0.offer(admission, offeringOf(this), offer)
  }

  /**
   * Gives L0 the complete response that it was offered, where this client gets less (304): else a page whose clients all have it
   * already would never come in. To be called before the client is answered.
   */
  fillL0(unsent: Parameters<L0Capture['fill']>[0]): void {
    // It would not pass the plugins, nor the filter.
    if (this.plugins?.seesResponses === true || this.bodyFilter !== undefined) return
    this.#l0.fill(unsent, {
      request: this.request,
      mayCompress: this.mayCompress,
      compression: this.compression,
      finalHead: (head) => this.#finalHead(head),
      onProblem: (error) => this.reportFailure(error, unsent.head.status),
    })
  }

  /** Keeps the response out of L0 for good: it depends on more of the request than the key of L0 holds, or it was guarded. */
  withdrawFromL0(): void {
    this.#l0.withdraw()
  }

  /** Called once, when the exchange has ended. */
  closed(isAborted: boolean): void {
    this.#ending = isAborted ? 'aborted' : 'written'
    this.counted?.release()
    this.#events?.left()
    this.#l0.closed(isAborted)
    this.#onClosed?.(isAborted)
    this.#onClosed = undefined
  }

  /** Writes a failure down under the id of this request. */
  reportFailure(error: Error, status: number): void {
    this.#tools.reportFailure(this, error, status)
  }

  /** The exchange has become a WebSocket: there is no response to send any more. */
  switched(): void {
    this.#status = 101
  }

  /** Closes the connection in place of a response. @param status for the log */
  hangUp(status: number): void {
    this.#l0.withdraw()
    this.#status = status
    if (this.exchange.cut === undefined) this.exchange.stream({ status, headers: [] }).abort()
    else this.exchange.cut()
  }

  /** Sends an interim response of a site or upstream, where the engine and the client can. */
  informational(head: ResponseHead): void {
    this.exchange.informational?.(withoutSessionFields(head))
  }

  /** Sends a complete response. */
  respond(unshaped: ResponseHead, body?: Uint8Array): void {
    this.enter('write')
    const head = this.#finalHead(unshaped)
    const shaped = this.plugins?.shaped(head) ?? head
    if (shaped instanceof Promise) {
      this.#status = head.status
      const kept = body && Buffer.from(body)
      shaped.then((late) => this.#respond(late, kept)).catch((error) => this.reportFailure(asError(error), 500))
    } else this.#respond(shaped, body)
  }

  #respond(head: ResponseHead, body: Uint8Array | undefined): void {
    this.#status = head.status
    this.#sentHeaders = head.headers
    this.#bytes = this.#sendsBody(head.status) ? (body?.byteLength ?? 0) : 0
    // Before it is sent: the body may be lent for this call alone.
    this.#l0.store(head, body ?? (this.request.method === 'HEAD' ? undefined : empty))
    respondAtPace(this, this.#sentHead(head), body, this.#sendsBody(head.status))
  }

  /** Sends the head of a streamed response. */
  stream(unshaped: ResponseHead, options?: StreamOptions): BodyWriter {
    this.enter('write')
    const head = this.#finalHead(unshaped)
    const shaped = this.plugins?.shaped(head) ?? head
    if (!(shaped instanceof Promise)) return this.#stream(shaped, options)
    this.#status = head.status
    const opening = shaped.then((late) => this.#stream(late, options))
    return new HeldWriter(opening, (error) => this.reportFailure(error, 500))
  }

  #stream(head: ResponseHead, options: StreamOptions | undefined): BodyWriter {
    this.#status = head.status
    this.#sentHeaders = head.headers
    const sendsBody = this.#sendsBody(head.status)
    this.#l0.startCopy(head, sendsBody ? (options?.length ?? 0) : Number.POSITIVE_INFINITY)
    const writer = streamAtPace(this, this.#sentHead(head), options, sendsBody)
    if (!sendsBody) return writer
    const count = (chunk: Uint8Array | undefined) => {
      if (chunk === undefined) return
      this.#bytes += chunk.byteLength
      this.#l0.add(chunk)
    }
    return {
      write(chunk, onUnused) {
        count(chunk)
        return writer.write(chunk, onUnused)
      },
      onDrain: (listener) => writer.onDrain(listener),
      end(chunk, trailers) {
        count(chunk)
        writer.end(chunk, trailers === undefined ? undefined : withoutSessionTrailers(trailers))
      },
      abort: () => {
        this.#wasCut = true
        writer.abort()
      },
    }
  }

  /** The exchange as a handler of files sees it: responses are compressed, counted, and carry the fields of middleware. */
  asExchange(): Pick<HttpExchange, 'request' | 'respond' | 'stream' | 'onClosed'> {
    return {
      request: this.request,
      respond: (head, content) => this.respondCompressed(head, content),
      stream: (head, options) => this.streamCompressed(head, options),
      onClosed: (listener) => this.onClosed(listener),
    }
  }

  /** Sends the head of a streamed response in the coding that the client likes best. */
  streamCompressed(head: ResponseHead, options?: StreamOptions): BodyWriter {
    const filtered = this.bodyFilter?.open(head)
    return filtered === undefined ? this.#streamCoded(head, options) : filtered.writerTo(this.#streamCoded(filtered.head, {}))
  }

  #streamCoded(head: ResponseHead, options: StreamOptions | undefined): BodyWriter {
    const writer = this.mayCompress
      ? compressStream(this.request, head, this.compression, {
          length: options?.length,
          open: (final, isCoded) => this.stream(final, isCoded ? {} : options),
        })
      : this.stream(head, options)
    if (!isEventStream(head, options) || !this.#sendsBody(head.status)) return writer
    this.#events = this.#tools.eventStreams.join(writer)
    return this.#events
  }

  /** Sends a complete response in the coding that the client likes best. `encode` may know the body compressed already. */
  respondCompressed(head: ResponseHead, body: Uint8Array | undefined, encode?: Encode): void {
    const filtered = body === undefined || body.byteLength === 0 ? undefined : this.bodyFilter?.open(head)
    if (filtered === undefined || body === undefined) this.#respondCoded(head, body, encode)
    else this.#respondCoded(filtered.head, filtered.whole(body))
  }

  #respondCoded(head: ResponseHead, body: Uint8Array | undefined, encode?: Encode): void {
    if (body === undefined || !this.mayCompress) {
      this.respond(head, body)
      return
    }
    const compressed = compressComplete(this.request, head, body, this.compression, encode)
    if (!(compressed instanceof Promise)) {
      this.respond(compressed.head, compressed.body)
      return
    }
    compressed.then(
      (done) => this.respond(done.head, done.body),
      (error) => {
        this.reportFailure(asError(error), head.status)
        this.respond(head, body)
      },
    )
  }

  /** Engines leave out the body of these (RFC 9110 sections 9.3.2, 15.3.5 and 15.4.5). */
  #sendsBody(status: number): boolean {
    return status !== 204 && status !== 304 && this.request.method !== 'HEAD'
  }

  /** With the fields for this client alone: caches do not get them. */
  #sentHead(head: ResponseHead): ResponseHead {
    const { affinity } = this.generation
    if (affinity === undefined || this.pathGroup === 'builtin') return head
    return withAffinity(head, affinity, this.exchange.request, this.client.scheme)
  }

  #finalHead(unshaped: ResponseHead): ResponseHead {
    return finalHead(this.shapeHead?.(unshaped) ?? unshaped, this, this.#tools.l0.admission !== undefined)
  }
}

/** One step of the pipeline. It either answers the request or passes it on; nothing jumps back. */
export interface Stage {
  readonly name: string
  /** False: nothing that the configuration has needs it. Asked once for each generation. */
  isNeeded?(generation: ServingGeneration): boolean
  run(context: RequestContext): StageResult | Promise<StageResult>
}
