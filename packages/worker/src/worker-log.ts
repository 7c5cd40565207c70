import { isDeepStrictEqual } from 'node:util'
import type { Refusal } from '@svc/engine'
import type { WafEvent } from '@svc/protocol'
import {
  AccessLog,
  createLogger,
  createLogRelay,
  descriptorSink,
  type HttpMetrics,
  LineQueue,
  LineSender,
  type Logger,
  prefixOn,
  type RequestTrace,
  socketSink,
} from '@svc/telemetry'
import type { ServingGeneration } from './generation/serving-generation.ts'
import type { RequestContext } from './request/request-context.ts'
import { RequestLog } from './request/request-log.ts'
import type { WorkerTraffic } from './traffic/worker-traffic.ts'

const CLOSE_TIMEOUT_MS = 1_000

type Logging = ServingGeneration['config']['logging']

/** Names the span of a sampled request in a log line. */
function traceFields(trace: RequestTrace | undefined) {
  return trace?.isSampled === true ? { trace_id: trace.traceId, span_id: trace.spanId } : {}
}

/** Descriptors that the master has opened. */
interface LogDescriptors {
  /** Its standard output. */
  readonly output: number
  /** Takes lines for log files to it. */
  readonly lines: number
}

/** The logs of a worker, as the generation in service configures them. The functions may be passed on without their object. */
export class WorkerLog {
  readonly #workerId: number
  readonly #fds: LogDescriptors
  readonly #httpMetrics: HttpMetrics
  readonly #traffic: WorkerTraffic
  /** Sends the lines to the master. */
  readonly relay = createLogRelay()
  #logger: Logger
  /** Access lines on their way to standard output. */
  #output: LineQueue | undefined
  /** Lines for log files on their way to the master. */
  #toMaster: LineQueue | undefined
  #sender: LineSender | undefined
  #requests: RequestLog

  constructor(
    workerId: number,
    fds: LogDescriptors,
    counts: { readonly httpMetrics: HttpMetrics; readonly traffic: WorkerTraffic },
  ) {
    this.#workerId = workerId
    this.#fds = fds
    this.#httpMetrics = counts.httpMetrics
    this.#traffic = counts.traffic
    this.#logger = this.#createLogger({ level: 'info', format: 'json' })
    this.#requests = new RequestLog(this.#httpMetrics, undefined, this.#traffic)
  }

  /** The log of finished requests. A reload may replace it. */
  readonly requests = (): RequestLog => this.#requests

  readonly onProblem = (error: Error): void => {
    this.#logger.warn({ err: error }, error.message)
  }

  /** Writes a line of a plugin, or about one. */
  readonly plugin = (
    level: 'debug' | 'info' | 'warn' | 'error',
    fields: Readonly<Record<string, unknown>>,
    message: string,
  ): void => {
    this.#logger[level](fields, message)
  }

  readonly onListenFailure = (error: Error): void => {
    this.#logger.error({ alert: 'listen_failed', err: error }, error.message)
  }

  readonly onEngineFallback = (err: unknown): void => {
    this.#logger.warn({ err }, 'uWebSockets.js is not available for this platform: using engine "node" instead')
  }

  readonly onCollectorState = (collector: string, error: Error | undefined): void => {
    if (error === undefined) this.#logger.info({ collector }, 'the collector takes spans again')
    else this.#logger.warn({ collector, err: error }, `failed to export spans to ${collector}: ${error.message}`)
  }

  readonly onWafMatch = (event: WafEvent): void => {
    this.#logger.warn(event, event.action === 'block' ? 'request blocked by the firewall' : 'request matched by the firewall')
  }

  readonly onRefused = (refusal: Refusal): void => {
    this.#requests.refused(refusal)
    const { status, code, method, target, listener, remoteAddress } = refusal
    const [path] = target.split(/[?#]/, 1)
    this.#logger.debug({ status, code, method, path, listener, client: remoteAddress }, 'request refused')
  }

  readonly reportFailure = (context: RequestContext, error: Error, status: number): void => {
    const fields = {
      request_id: context.requestId,
      site: context.site?.config.id,
      path: context.exchange.request.rawPath,
      status,
      ...traceFields(context.trace),
      err: error,
    }
    if (status >= 500) this.#logger.error(fields, error.message)
    else this.#logger.warn(fields, error.message)
  }

  /** A generation takes over. */
  apply(next: ServingGeneration, previous: ServingGeneration | undefined): void {
    const { logging } = next.config
    const before = previous?.config.logging
    if (isDeepStrictEqual(before, logging)) return
    const { level, format } = logging
    if (before?.level !== level || before.format !== format) this.#logger = this.#createLogger({ level, format })
    this.#requests = new RequestLog(this.#httpMetrics, this.#accessLog(logging), this.#traffic)
  }

  async close(): Promise<void> {
    await Promise.all([this.#output?.close(CLOSE_TIMEOUT_MS), this.#toMaster?.close(CLOSE_TIMEOUT_MS)])
  }

  /** Lines dropped so far. */
  get droppedLines(): number {
    return (this.#output?.droppedLines ?? 0) + (this.#toMaster?.droppedLines ?? 0)
  }

  #accessLog({ access, access_format: format, access_file: file }: Logging): AccessLog | undefined {
    if (!access) return undefined
    const sendTo = this.#sendTo
    if (file !== undefined) return new AccessLog({ format, output: { write: (line) => sendTo(file, line) }, sendTo })
    this.#output ??= new LineQueue({ sink: descriptorSink(this.#fds.output), onDropping: this.#onDropping })
    return new AccessLog({ format, output: this.#output, prefix: prefixOn(this.#fds.output, 'info'), sendTo })
  }

  readonly #sendTo = (path: string, line: string): void => {
    this.#toMaster ??= new LineQueue({ sink: socketSink(this.#fds.lines), onDropping: this.#onDropping })
    this.#sender ??= new LineSender(this.#toMaster)
    this.#sender.send(path, line)
  }

  readonly #onDropping = (reason: string): void => {
    this.#logger.warn({ reason }, 'access lines are dropped')
  }

  #createLogger(options: Pick<Parameters<typeof createLogger>[0], 'level' | 'format'>): Logger {
    return createLogger({ ...options, base: { proc: 'worker', worker: this.#workerId }, onLine: this.relay.take })
  }
}
