import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import type { Config } from '@svc/config'
import { MetricSet } from '@svc/telemetry'
import { ManualClock } from '@svc/testkit'
import { RateLimits } from '../packages/supervisor/src/rate-limit/rate-limits.ts'
import { RateLimiter } from '../packages/worker/src/rate-limit/rate-limiter.ts'

const logger = { warn: () => undefined } as never
export const CLIENT = '192.0.2.1'

/** The workers' side and the master's side of the rate limit of an instance, in one process and a time of their own. */
export class Instance {
  readonly clock = new ManualClock(0)
  readonly limits: RateLimits
  readonly limiters: readonly RateLimiter[]
  /** Delays the replies of the master, which has counted before. */
  hold: () => Promise<void> = async () => undefined
  /** Times of requests that passed. */
  readonly passes: number[] = []
  refused = 0

  constructor(budget: number, workers: number) {
    const settings = { enabled: true, requests_per_minute: budget, distributed: false, exempt: [] }
    this.limits = new RateLimits({
      settings: () => settings,
      workers: () => workers,
      instances: () => 1,
      shared: undefined,
      announce: async () => undefined,
      clock: this.clock,
      logger,
    })
    const master = {
      take: async (orders: Parameters<RateLimits['take']>[0]) => {
        const slices = await this.limits.take(orders)
        await this.hold()
        return slices
      },
      giveBack: (unused: Parameters<RateLimits['giveBack']>[0]) => this.limits.giveBack(unused),
    }
    this.limiters = Array.from({ length: workers }, () => {
      const limiter = new RateLimiter({ master, metrics: new MetricSet(), clock: this.clock })
      limiter.apply({ rate_limit: settings, server: { workers } } as unknown as Config)
      return limiter
    })
  }

  /** Sends a request to a worker, half of them by way of L0. */
  async send(worker: number, byL0: boolean): Promise<void> {
    const limiter = this.limiters[worker]
    assert.ok(limiter)
    const at = this.clock.monotonic()
    let isPassed = byL0 && limiter.passes(CLIENT, at)
    if (isPassed) limiter.answeredByL0()
    else isPassed = (await limiter.admit(CLIENT)).isPassed
    if (isPassed) this.passes.push(at)
    else this.refused++
    // An order that it has caused reaches the master within its second.
    await turn()
  }

  /** Most requests that passed in any 60 seconds. */
  get most(): number {
    let most = 0
    let first = 0
    for (let last = 0; last < this.passes.length; last++) {
      while ((this.passes[last] ?? 0) - (this.passes[first] ?? 0) >= 60_000) first++
      most = Math.max(most, last - first + 1)
    }
    return most
  }
}
