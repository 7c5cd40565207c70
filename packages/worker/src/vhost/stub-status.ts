import { type Clock, entryOf } from '@svc/core'
import type { RequestContext, StageResult } from '../request/request-context.ts'
import { answerByConditions } from './bare-conditions.ts'

/** Metrics of all workers, as text in the exposition format of Prometheus. */
type ReadMetrics = () => Promise<string>

/** A request in its location. */
interface LocationRequest {
  readonly state: { readonly context: RequestContext; readonly method: string; readonly status: number | undefined }
  fail(status: number): StageResult | Promise<StageResult>
}

/** The figures are read at most this often: the page is open to whoever its location admits, and all workers are asked for them. */
const FRESH_MS = 1_000

const METRICS = {
  connections: 'http_active_connections',
  accepted: 'svc_http_connections_total',
  inFlight: 'svc_http_requests_in_flight',
  requests: 'http_requests_total',
} as const

/** The page of `stub_status`, with the sums of all workers. */
export class StubStatus {
  readonly #read: ReadMetrics
  readonly #clock: Pick<Clock, 'monotonic'>
  #page: Promise<Buffer> | undefined
  #readAt = 0

  constructor(read: ReadMetrics, clock: Pick<Clock, 'monotonic'>) {
    this.#read = read
    this.#clock = clock
  }

  /** Answers a request. */
  async send(run: LocationRequest): Promise<StageResult> {
    const { context, method } = run.state
    context.withdrawFromL0()
    if (method !== 'GET' && method !== 'HEAD') return run.fail(405)
    const body = await this.#text()
    const ended = answerByConditions(run)
    if (ended !== undefined) return ended
    context.respondCompressed({ status: 200, headers: [['content-type', 'text/plain']] }, body)
    return 'answered'
  }

  #text(): Promise<Buffer> {
    const now = this.#clock.monotonic()
    if (this.#page !== undefined && now - this.#readAt < FRESH_MS) return this.#page
    this.#readAt = now
    this.#page = this.#read().then(pageOf)
    // The next request tries again.
    this.#page.catch(() => {
      this.#page = undefined
    })
    return this.#page
  }
}

function pageOf(metrics: string): Buffer {
  const sums = new Map<string, number>()
  for (const line of metrics.split('\n')) {
    const [, name = '', value = ''] = /^([a-z_]+)(?:\{.*\})? (\S+)$/.exec(line) ?? []
    if (name !== '') sums.set(name, entryOf(sums, name, () => 0) + Number(value))
  }
  const sum = (name: keyof typeof METRICS) => sums.get(METRICS[name]) ?? 0
  const [connections, accepted, requests] = [sum('connections'), sum('accepted'), sum('requests')]
  // Several requests may be in flight on one connection of HTTP/2.
  const writing = Math.min(sum('inFlight'), connections)
  return Buffer.from(
    `Active connections: ${connections} \nserver accepts handled requests\n ${accepted} ${accepted} ${requests} \n` +
      `Reading: 0 Writing: ${writing} Waiting: ${connections - writing} \n`,
  )
}
