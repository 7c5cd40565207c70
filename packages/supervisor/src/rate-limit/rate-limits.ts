import type { Clock } from '@svc/core'
import type { CountedClients, Slice, SliceOrder, UnusedSlice } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { type Budget, budgetOf, sliceOf, WINDOW_SECONDS } from './budget.ts'
import { ClientWindows } from './client-windows.ts'
import type { SharedWindows } from './shared-windows.ts'

/** Clients that are listed. */
const MAX_LISTED = 1_000
/** A client is near its budget from this part of it. */
const NEAR = 0.8
/** Least time between two lines about the same trouble. */
const QUIET_MS = 60_000

interface RateLimitsOptions {
  /** `rate_limit` of the configuration in service. */
  readonly settings: () => {
    readonly enabled: boolean
    readonly requests_per_minute: number
    readonly distributed: boolean
  }
  readonly workers: () => number
  /** Instances that count together. */
  readonly instances: () => number
  /** Undefined: no `redis.url` is set. */
  readonly shared: SharedWindows | undefined
  /** Tells the workers that a client has its whole budget again. Resolves when they know. */
  readonly announce: (client: string) => Promise<void>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly logger: Logger
}

/** Hands the budgets of clients out to the workers: those of this instance, or with `distributed` those of all instances. */
export class RateLimits {
  readonly #options: RateLimitsOptions
  readonly #windows = new ClientWindows()
  #localSlices = 0
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(options: RateLimitsOptions) {
    this.#options = options
  }

  /** Slices that this instance has given by itself, since Redis was away or late. */
  get localSlices(): number {
    return this.#localSlices
  }

  get counted(): number {
    return this.#windows.size
  }

  /** Never rejects: where Redis fails, this instance counts by itself. */
  take(orders: readonly SliceOrder[]): Promise<Slice[]> {
    const { settings, workers, instances, shared } = this.#options
    const { requests_per_minute: requestsPerMinute, distributed } = settings()
    const isShared = distributed && shared !== undefined
    const own = budgetOf(requestsPerMinute, workers())
    if (!isShared) return Promise.resolve(orders.map((order) => this.#takeHere(order, own)))
    const ofAll = budgetOf(requestsPerMinute, workers() * instances())
    return Promise.all(orders.map((order) => this.#takeShared(order, shared, ofAll, own)))
  }

  giveBack(unused: readonly UnusedSlice[]): void {
    for (const slice of unused) {
      const { client, requests, second, isShared } = slice
      this.#windows.known(client)?.remove(isShared ? undefined : second, requests)
      // If Redis is away it counts them for a minute.
      if (isShared && this.#options.shared?.isUsable === true) this.#options.shared.giveBack(slice).catch(() => undefined)
    }
  }

  list(): CountedClients {
    const { enabled, requests_per_minute: budget, distributed } = this.#options.settings()
    const { limit } = budgetOf(budget, 1)
    const second = this.#second
    const clients = [...this.#windows.all(second)]
      .filter(([, { total }]) => total >= NEAR * budget)
      .sort(([, one], [, other]) => other.total - one.total)
      .slice(0, MAX_LISTED)
      .map(([client, { total: requests, refused, freedAt = second }]) => {
        return { client, requests, refused, retry_after_secs: requests < limit ? 0 : freedAt - second }
      })
    return { enabled, budget, window_secs: WINDOW_SECONDS, distributed, counted: this.counted, clients }
  }

  /** Gives a client its whole budget back. Resolves with false if none of its requests were counted. */
  async unblock(client: string): Promise<boolean> {
    const { settings, shared, announce } = this.#options
    const isKnown = this.#windows.forget(client)
    const isShared = settings().distributed && shared?.isUsable === true && (await shared.forget(client))
    await announce(client)
    return isKnown || isShared
  }

  get #second(): number {
    return Math.floor(this.#options.clock.monotonic() / 1000)
  }

  #takeHere({ client, passed, waiting, refused }: SliceOrder, budget: Budget): Slice {
    const now = this.#options.clock.monotonic()
    const second = Math.floor(now / 1000)
    const window = this.#windows.of(client, second)
    window.refused += refused
    window.add(second, passed)
    const requests = sliceOf(budget, Math.max(0, budget.limit - window.total), waiting)
    window.add(second, requests)
    return {
      requests,
      second,
      isShared: false,
      validMs: (second + 1) * 1000 - now,
      left: Math.max(0, budget.limit - window.total),
      retryMs: (window.freedAt ?? second) * 1000 - now,
    }
  }

  async #takeShared(order: SliceOrder, shared: SharedWindows, ofAll: Budget, own: Budget): Promise<Slice> {
    if (!shared.isUsable) return this.#takeWithoutRedis(order, own)
    try {
      const slice = await shared.take(order, ofAll)
      const second = this.#second
      const window = this.#windows.of(order.client, second)
      window.refused += order.refused
      window.add(second, order.passed + slice.requests)
      return slice
    } catch {
      return this.#takeWithoutRedis(order, own)
    }
  }

  #takeWithoutRedis(order: SliceOrder, budget: Budget): Slice {
    this.#localSlices++
    const { clock, logger } = this.#options
    const now = clock.monotonic()
    if (now - this.#toldAt >= QUIET_MS) {
      this.#toldAt = now
      logger.warn('Redis does not count requests at the moment: the rate limit of this instance counts by itself')
    }
    return this.#takeHere(order, budget)
  }
}
