import { performance } from 'node:perf_hooks'
import { BatchRelay, type CallContext, type Clock, FairRing } from '@svc/core'
import { type Flow, type FlowQuery, isSelected, newerFirst } from '@svc/protocol'

/** Further stages count to the last one. */
const MAX_STAGES = 16
const MAX_FLOWS = 500
/** Trails that are kept for further requests. */
const MAX_FREE = 256
/** Of the requests that are neither slow nor failed, one of so many is recorded, and at most one in a second. */
const SAMPLE_OF = 100
const MAX_PATH_CHARS = 512
const MAX_NAME_CHARS = 128
/** Flows that are sent at a time to a reader. */
const MAX_BATCH = 100
/** Stages that a request needs a place in a render host for. */
const PLACED_STAGES: readonly string[] = ['render', 'middleware']

/** The stages that a request is in. Each costs one reading of the clock, and no memory: trails are used again. */
export interface StageTrail {
  readonly names: string[]
  readonly outcomes: string[]
  /** Milliseconds of the monotonic clock. */
  readonly starts: number[]
  count: number
  /** The stage that waits for a place; "": none does. */
  waiting: string
}

/** A request that has ended, as far as its flow shows it. */
export interface EndedRequest {
  readonly trail: StageTrail | undefined
  readonly slowMs: number
  /** False for responses that last as long as their clients want them to. */
  readonly mayBeSlow: boolean
  readonly isFailed: boolean
  readonly isAborted: boolean
  readonly startedAt: number
  readonly durationMs: number
  readonly status: number
  readonly site: string
  readonly method: string
  /** Without a query. */
  readonly path: string
  readonly requestId: () => string
}

/** One stage of a request, as its flow and its spans show it. */
export type RequestStage = Flow['stages'][number]

const millis = (value: number) => Math.round(value * 1000) / 1000

/** The last requests of a worker that were slow or failed, and a sample of the others, with the stages that they went through. */
export class FlowLog {
  readonly #flows = new FairRing<Flow>({ maxItems: MAX_FLOWS, maxWeight: MAX_FLOWS })
  readonly #free: StageTrail[] = []
  readonly #relays = new Set<BatchRelay<Flow>>()
  #others = 0
  #sampledAt = Number.NEGATIVE_INFINITY

  /** Notes that a request enters a stage, and how the stage before it went. Returns its trail. */
  enter(trail: StageTrail | undefined, name: string, outcome: string): StageTrail {
    const own = trail ?? this.#free.pop() ?? { names: [], outcomes: [], starts: [], count: 0, waiting: '' }
    const { count } = own
    own.waiting = ''
    own.outcomes[count] = outcome
    if (count === MAX_STAGES) return own
    own.names[count] = name
    own.starts[count] = performance.now()
    own.count++
    return own
  }

  /** Notes that the stage that a request is in begins with a wait for a place (true), or has got one (false). Returns its trail. */
  queued(trail: StageTrail | undefined, isWaiting: boolean): StageTrail | undefined {
    if (trail === undefined) return undefined
    if (!isWaiting) return trail.waiting === '' ? trail : this.enter(trail, trail.waiting, 'ok')
    const last = trail.count - 1
    const name = trail.names[last] ?? ''
    if (!PLACED_STAGES.includes(name)) return trail
    trail.waiting = name
    trail.names[last] = 'queue'
    return trail
  }

  /** Records the request if it is one to record. Its trail must not be used any more. */
  ended(request: EndedRequest): void {
    const reason = this.#reasonOf(request)
    if (reason !== undefined) this.#record(flowOf(request, reason))
    const { trail } = request
    if (trail === undefined || this.#free.length >= MAX_FREE) return
    trail.count = 0
    this.#free.push(trail)
  }

  /** The newest first. */
  list(query: FlowQuery): Flow[] {
    const { sites, request_id: id, sinceMs = 0, before, limit } = query
    const found: Flow[] = []
    for (const flow of this.#flows.of(sites)) {
      const isInRange = Date.parse(flow.at) >= sinceMs && (before === undefined || newerFirst(before, flow) < 0)
      if (isInRange && (id === undefined || flow.request_id === id) && isSelected(flow, query)) found.push(flow)
    }
    return found.sort(newerFirst).slice(0, limit)
  }

  /** Sends flows to the caller as they are recorded. Resolves when the caller is gone. */
  follow(call: Pick<CallContext, 'send' | 'drained' | 'onAbort'>, clock?: Clock): Promise<undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const relay = new BatchRelay<Flow>({ maxItems: MAX_BATCH, maxWeight: MAX_BATCH, weightOf: () => 1, clock })
    relay.connect(async ({ items, dropped }) => {
      if (!call.send(dropped, JSON.stringify(items))) await call.drained()
    })
    this.#relays.add(relay)
    call.onAbort(() => {
      this.#relays.delete(relay)
      resolve(undefined)
    })
    return promise
  }

  #record(flow: Flow): void {
    this.#flows.add(flow.site, flow, 1)
    for (const relay of this.#relays) relay.take(flow)
  }

  #reasonOf({ isFailed, mayBeSlow, durationMs, slowMs, startedAt }: EndedRequest): Flow['reason'] | undefined {
    if (isFailed) return 'failed'
    if (mayBeSlow && durationMs >= slowMs) return 'slow'
    if (this.#others++ % SAMPLE_OF !== 0 || startedAt - this.#sampledAt < 1000) return undefined
    this.#sampledAt = startedAt
    return 'sample'
  }
}

function flowOf(request: EndedRequest, reason: Flow['reason']): Flow {
  const { durationMs, status, site, method, path, requestId } = request
  return {
    request_id: requestId().slice(0, MAX_NAME_CHARS),
    at: new Date(Date.now() - durationMs).toISOString(),
    site,
    method: method.slice(0, MAX_NAME_CHARS),
    path: path.slice(0, MAX_PATH_CHARS),
    status,
    duration_ms: millis(durationMs),
    reason,
    stages: stagesOf(request),
  }
}

/** The stages of a request that has ended. A request is with L0 until it enters another stage, and in each until it enters the next. */
export function stagesOf({ trail, startedAt, durationMs, isAborted }: EndedRequest): RequestStage[] {
  const outcome = isAborted ? 'aborted' : 'ok'
  const count = trail?.count ?? 0
  const startOf = (index: number) => Math.max(0, index < count ? (trail?.starts[index] ?? 0) - startedAt : durationMs)
  const first = {
    name: 'l0',
    start_ms: 0,
    duration_ms: millis(startOf(0)),
    outcome: count === 0 ? outcome : (trail?.outcomes[0] ?? ''),
  }
  const others = Array.from({ length: count }, (_, index) => ({
    name: trail?.names[index] ?? '',
    start_ms: millis(startOf(index)),
    duration_ms: millis(Math.max(0, startOf(index + 1) - startOf(index))),
    outcome: index === count - 1 ? outcome : (trail?.outcomes[index + 1] ?? ''),
  }))
  return [first, ...others]
}
