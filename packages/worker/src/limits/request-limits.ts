import { type Clock, LeakyBuckets, setNewest } from '@svc/core'
import type { RequestLimitOrder, RequestLimitReply } from '@svc/protocol'
import { TurnBatch } from './turn-batch.ts'

/** A limit of a request, with what this worker needs to decide by itself. Rates in thousandths of requests per second. */
interface RequestLimit {
  readonly zone: string
  readonly rate: number
  readonly maxBytes: number
  readonly key: string
  readonly burst: number
  readonly delay: number
}

/** Undefined: the request is refused. Else the milliseconds for which it is to wait. */
type RequestDecision = number | undefined

interface Refusal {
  readonly excess: number
  /** When the master was asked, which knew that excess a little later. */
  readonly at: number
}

/** Keys whose last refusal is remembered. */
const MAX_REFUSALS = 4_096
/** The master is asked again after this at the latest, so that it does not drop the bucket of a key as unused. */
const MAX_REFUSED_MS = 1_000

/** Decides on requests by `limit_req`. The master counts for all workers; without it this worker counts its own requests. */
export class RequestLimits {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #batch: TurnBatch<RequestLimitOrder, RequestLimitReply>
  readonly #refusals = new Map<string, Refusal>()
  readonly #ownBuckets = new Map<string, LeakyBuckets>()

  constructor(
    send: (orders: readonly RequestLimitOrder[]) => Promise<readonly RequestLimitReply[]>,
    clock: Pick<Clock, 'monotonic'>,
  ) {
    this.#clock = clock
    this.#batch = new TurnBatch(send)
  }

  /** Never rejects. */
  decide(limits: readonly RequestLimit[]): RequestDecision | Promise<RequestDecision> {
    const now = this.#clock.monotonic()
    // Other requests only add to the excess: a flood is refused here.
    if (limits.some((limit) => this.#isStillRefused(limit, now))) return undefined
    return this.#ask(limits, now)
  }

  async #ask(limits: readonly RequestLimit[], askedAt: number): Promise<RequestDecision> {
    const reply = await this.#batch.add(limits.map(({ zone, key, burst, delay }) => ({ zone, key, burst, delay })))
    if (reply === undefined || reply.refusedBy < -1) return this.#decideHere(limits)
    const refusing = limits[reply.refusedBy]
    if (refusing === undefined) return reply.delayMs
    setNewest(this.#refusals, nameOf(refusing), { excess: reply.excess, at: askedAt }, MAX_REFUSALS)
    return undefined
  }

  #isStillRefused(limit: RequestLimit, now: number): boolean {
    const known = this.#refusals.get(nameOf(limit))
    if (known === undefined) return false
    const passedMs = now - known.at
    if (passedMs < MAX_REFUSED_MS && known.excess - (limit.rate * passedMs) / 1000 > limit.burst) return true
    this.#refusals.delete(nameOf(limit))
    return false
  }

  #decideHere(limits: readonly RequestLimit[]): RequestDecision {
    const now = Math.floor(this.#clock.monotonic())
    const found = limits.map((limit) => {
      const buckets = this.#ownBuckets.get(limit.zone) ?? new LeakyBuckets(limit.maxBytes)
      this.#ownBuckets.set(limit.zone, buckets)
      return { limit, buckets, excess: buckets.excessOf(limit.key, limit.rate, now) }
    })
    if (found.some(({ limit, excess }) => excess > limit.burst)) return undefined
    let delayMs = 0
    for (const { limit, buckets, excess } of found) {
      buckets.count(limit.key, excess, now)
      if (excess > limit.delay) delayMs = Math.max(delayMs, Math.floor(((excess - limit.delay) * 1000) / limit.rate))
    }
    return delayMs
  }
}

function nameOf({ zone, key }: RequestLimit): string {
  return `${zone}\0${key}`
}
