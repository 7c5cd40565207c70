// Campaign: random schedules of clients.
// The workers' side and the master's side of the rate limit together, in one process and a time of their own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Config } from '@svc/config'
import { MetricSet } from '@svc/telemetry'
import { ManualClock } from '@svc/testkit'
import { RateLimits } from '../packages/supervisor/src/rate-limit/rate-limits.ts'
import { RateLimiter } from '../packages/worker/src/rate-limit/rate-limiter.ts'

const logger = { warn: () => undefined } as never
const CLIENT = '192.0.2.1'

/** A sequence of numbers in [0, 1) that is the same each time. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 0x1_0000_0000
  }
}

class Instance {
  readonly clock = new ManualClock(0)
  readonly limits: RateLimits
  readonly limiters: readonly RateLimiter[]
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
      take: (orders: Parameters<RateLimits['take']>[0]) => this.limits.take(orders),
      giveBack: (unused: Parameters<RateLimits['giveBack']>[0]) => this.limits.giveBack(unused),
    }
    this.limiters = Array.from({ length: workers }, () => {
      const limiter = new RateLimiter({ master, metrics: new MetricSet(), clock: this.clock })
      limiter.apply({ rate_limit: settings } as unknown as Config)
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

const spreads = {
  'to one worker': () => 0,
  'in turn to all workers': (n: number, workers: number) => n % workers,
  'at random': (_n: number, workers: number, random: () => number) => Math.floor(random() * workers),
  'in long runs to each worker': (n: number, workers: number) => Math.floor(n / 37) % workers,
  'nearly all to one worker': (n: number, workers: number) => (n % 50 === 0 ? workers - 1 : 0),
} as const

for (const [budget, workers] of [
  [1, 1],
  [7, 3],
  [60, 2],
  [600, 1],
  [600, 2],
  [600, 8],
  [6_000, 4],
] as const) {
  for (const [name, workerOf] of Object.entries(spreads)) {
    test(`a client that sends evenly at a budget of ${budget} ${name} of ${workers} is never refused`, async () => {
      const instance = new Instance(budget, workers)
      const random = randomFrom(budget + workers)
      const step = 60_000 / budget
      for (let n = 0; n < Math.max(5, 3 * budget); n++) {
        await instance.send(workerOf(n, workers, random), random() < 0.5)
        instance.clock.advance(step)
      }
      assert.equal(instance.refused, 0)
    })

    test(`a client that floods a budget of ${budget} ${name} of ${workers} gets at most 2 % more, and one for each worker`, async () => {
      const instance = new Instance(budget, workers)
      const random = randomFrom(budget * workers)
      // Bursts and pauses, twice the budget in a minute.
      for (let n = 0; n < 6 * budget + 10; n++) {
        await instance.send(workerOf(n, workers, random), random() < 0.5)
        instance.clock.advance(random() < 0.02 ? random() * 50 * (30_000 / budget) : random() < 0.5 ? 0 : 1)
      }
      assert.ok(instance.most <= 1.02 * budget + workers, `${instance.most} passed`)
      assert.ok(instance.most >= Math.min(budget, instance.passes.length), 'the budget can be used up')
      assert.ok(instance.refused > 0, 'the flood was refused')
    })
  }
}

test('requests that come all at once get the whole budget, and no more', async () => {
  const instance = new Instance(600, 4)
  await Promise.all(Array.from({ length: 2_000 }, (_, n) => instance.send(n % 4, n % 3 === 0)))
  assert.ok(instance.passes.length >= 600 && instance.passes.length <= 616, `${instance.passes.length} passed`)
  assert.equal(instance.refused, 2_000 - instance.passes.length)
})
