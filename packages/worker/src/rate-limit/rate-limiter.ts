import { type Config, workerCount } from '@svc/config'
import { type TurnClock, withDeadline } from '@svc/core'
import { CidrSet, clientNetwork } from '@svc/http'
import { addLimiterMetrics, type MetricSet } from '@svc/telemetry'
import { ClientBudget, type OwnShare } from './client-budget.ts'
import { type MasterSlices, SliceOrders } from './slice-orders.ts'

/** How long a request waits for the master, if the slice of its client is used up. */
const MAX_WAIT_MS = 20
/** Addresses that are remembered twice over. A client is remembered for longer than a window. */
const MAX_ADDRESSES = 32_768
const KEPT_MS = 62_000

/** Result for a request. */
export type Admission = { readonly isPassed: true } | { readonly isPassed: false; readonly retryMs: number }

const passed: Admission = { isPassed: true }

interface RateLimiterOptions {
  readonly master: MasterSlices
  readonly metrics: MetricSet
  readonly clock: TurnClock
}

/**
 * Limits the requests of each client address (IPv6: of each /64) to the budget of `[rate_limit]`, over all workers: the master counts,
 * and hands out slices. docs/rate-limiting.md has the rules.
 */
export class RateLimiter {
  readonly #clock: TurnClock
  readonly #orders: SliceOrders
  /** By address, with the null of an exempt one; those of the last minute or so, and those of the time before. */
  #recent = new Map<string, ClientBudget | null>()
  #older = new Map<string, ClientBudget | null>()
  #renewedAt = 0
  #lastAddress: string | undefined
  #last: ClientBudget | null = null
  /** The client of a request that L0 has let pass, and has no response for. */
  #passedByL0: ClientBudget | undefined
  #exempt = new CidrSet([])
  #settings: Config['rate_limit'] | undefined
  #refused = 0
  #decidedHere = 0
  #ownShare: OwnShare = { perSecond: 0, perWindow: 0, workers: 1 }
  /** Requests of a client in each minute. */
  budget = 0
  isOn = false

  constructor({ master, metrics, clock }: RateLimiterOptions) {
    this.#clock = clock
    this.#orders = new SliceOrders(master, clock)
    addLimiterMetrics(metrics, { refused: () => this.#refused, decidedHere: () => this.#decidedHere })
  }

  /** A configuration takes over. */
  apply(config: Config): void {
    const { rate_limit: settings } = config
    if (this.#settings !== undefined && JSON.stringify(settings) === JSON.stringify(this.#settings)) return
    this.#settings = settings
    this.isOn = settings.enabled
    this.budget = settings.requests_per_minute
    this.#ownShare = { perSecond: Math.ceil(this.budget / 60), perWindow: this.budget, workers: workerCount(config) }
    this.#exempt = new CidrSet(settings.exempt)
    this.#forgetAll()
  }

  /** Asks L0: true if a request may have a response at once. `admit` follows for each request to which it gives none. */
  passes(address: string, now: number): boolean {
    const client = this.#clientOf(address, now)
    if (client === null) return true
    if (!client.tryPass(now)) return false
    if (client.wantsOrder) void this.#orders.add(client)
    this.#passedByL0 = client
    return true
  }

  /** L0 has the response to the request that passed. */
  answeredByL0(): void {
    this.#passedByL0 = undefined
  }

  /** Decides on a request before the pipeline; the promise is kept within `MAX_WAIT_MS`. */
  admit(address: string): Admission | Promise<Admission> {
    const now = this.#clock.turn()
    const client = this.#clientOf(address, now)
    const isCounted = client !== null && client === this.#passedByL0
    this.#passedByL0 = undefined
    if (client === null || isCounted) return passed
    return this.#tryNow(client, now) ?? this.#admitLater(client)
  }

  /** A client has its whole budget again. */
  unblock(client: string): void {
    for (const addresses of [this.#recent, this.#older])
      for (const [address, known] of addresses) if (known?.client === client) addresses.delete(address)
    this.#lastAddress = undefined
  }

  /** Undefined: the master must be asked. */
  #tryNow(client: ClientBudget, now: number): Admission | undefined {
    if (client.tryPass(now)) {
      if (client.wantsOrder) void this.#orders.add(client)
      return passed
    }
    return client.isRefused(now) ? this.#refuse(client, now) : undefined
  }

  async #admitLater(client: ClientBudget): Promise<Admission> {
    const deadline = this.#clock.monotonic() + MAX_WAIT_MS
    client.waiting++
    try {
      for (;;) {
        const restMs = deadline - this.#clock.monotonic()
        const isCounted = restMs > 0 && (await withDeadline(this.#orders.add(client), restMs, 'a count').catch(() => false))
        const now = this.#clock.monotonic()
        const settled = this.#tryNow(client, now)
        if (settled !== undefined) return settled
        if (!isCounted) return this.#decideHere(client, now)
      }
    } finally {
      client.waiting--
    }
  }

  #decideHere(client: ClientBudget, now: number): Admission {
    this.#decidedHere++
    return client.passesHere(now, this.#ownShare) ? passed : this.#refuse(client, now)
  }

  #refuse(client: ClientBudget, now: number): Admission {
    this.#refused++
    client.countRefusal()
    return { isPassed: false, retryMs: client.retryMs(now) }
  }

  #clientOf(address: string, now: number): ClientBudget | null {
    if (address === this.#lastAddress) return this.#last
    if (now - this.#renewedAt >= KEPT_MS || this.#recent.size >= MAX_ADDRESSES) {
      this.#older = this.#recent
      this.#recent = new Map()
      this.#renewedAt = now
    }
    let client = this.#recent.get(address)
    if (client === undefined) {
      client = this.#older.get(address)
      if (client === undefined) client = this.#newClient(address)
      this.#recent.set(address, client)
    }
    this.#lastAddress = address
    this.#last = client
    return client
  }

  /** Clients without an address come by a unix socket, from this machine. */
  #newClient(address: string): ClientBudget | null {
    const network = clientNetwork(address)
    if (network === '' || this.#exempt.contains(address)) return null
    if (network === address) return new ClientBudget(network)
    // Many addresses of IPv6 are one client, which is kept under the name of its network.
    const known = this.#recent.get(network) ?? this.#older.get(network) ?? new ClientBudget(network)
    this.#recent.set(network, known)
    return known
  }

  #forgetAll(): void {
    this.#recent = new Map()
    this.#older = new Map()
    this.#lastAddress = undefined
    this.#passedByL0 = undefined
  }
}
