import type { Clock } from '@svc/core'
import type { Slice, SliceOrder, UnusedSlice } from '@svc/protocol'
import type { ClientBudget, UnusedPart } from './client-budget.ts'

/** The master, as far as it hands out slices. */
export interface MasterSlices {
  /** Settles with the reply however late it comes, since the master has counted; rejects only when the master is gone. */
  take(orders: readonly SliceOrder[]): Promise<readonly Slice[]>
  giveBack(unused: readonly UnusedSlice[]): void
}

/** Slices end at about the same time: unused ones are gathered for so long. */
const GATHER_MS = 20
/** Clients that are sent in one message. */
const MAX_BATCH = 1_000
/** Orders in flight: a master that is held up must not let them fill the memory. */
const MAX_ORDERS = 65_536

/** Orders slices from the master, those of a turn in one message, and gives back the unused ones when their time is over. */
export class SliceOrders {
  readonly #master: MasterSlices
  readonly #clock: Clock
  #queued: ClientBudget[] = []
  #flushed: Promise<ReadonlySet<ClientBudget>> | undefined
  /** Clients with a slice, which may have an unused part at its end. */
  readonly #holding = new Set<ClientBudget>()
  #isWatching = false
  #inFlight = 0

  constructor(master: MasterSlices, clock: Clock) {
    this.#master = master
    this.#clock = clock
  }

  /** Orders a slice for a client, or joins its order in flight. Resolves with true when the master has replied; never rejects. */
  add(client: ClientBudget): Promise<boolean> {
    if (client.order !== undefined) return client.order
    if (this.#inFlight >= MAX_ORDERS) return Promise.resolve(false)
    this.#inFlight++
    this.#flushed ??= new Promise((resolve) => setImmediate(() => resolve(this.#flush())))
    this.#queued.push(client)
    const settle = (isCounted: boolean) => {
      client.order = undefined
      this.#inFlight--
      return isCounted
    }
    client.order = this.#flushed.then((counted) => settle(counted.has(client)))
    return client.order
  }

  /** Resolves with the clients for which the master has replied. */
  async #flush(): Promise<ReadonlySet<ClientBudget>> {
    const clients = this.#queued
    this.#queued = []
    this.#flushed = undefined
    const batches: Promise<readonly ClientBudget[]>[] = []
    for (let i = 0; i < clients.length; i += MAX_BATCH) batches.push(this.#send(clients.slice(i, i + MAX_BATCH)))
    return new Set((await Promise.all(batches)).flat())
  }

  /** @returns the clients, unless the master has not replied */
  async #send(clients: readonly ClientBudget[]): Promise<readonly ClientBudget[]> {
    const orderedAt = this.#clock.monotonic()
    const figures = clients.map((client) => client.takeFigures())
    const orders = clients.map(({ client, waiting }, i) => {
      const { passed = 0, refused = 0 } = figures[i] ?? {}
      return { client, waiting, passed, refused }
    })
    try {
      this.#received(clients, await this.#master.take(orders), orderedAt)
      return clients
    } catch {
      // The master is gone and has counted nothing that the next one knows. Requests are decided on here meanwhile, and counted with the next order.
      for (const { undo } of figures) undo()
      return []
    }
  }

  #received(clients: readonly ClientBudget[], slices: readonly Slice[], orderedAt: number): void {
    const now = this.#clock.monotonic()
    const unused = clients.flatMap((client, i) => {
      const slice = slices[i]
      const part = slice && client.take(slice, orderedAt, now)
      this.#holding.add(client)
      return part === undefined ? [] : [unusedSlice(client, part)]
    })
    this.#giveBack(unused)
    this.#watch()
  }

  #watch(): void {
    if (this.#isWatching || this.#holding.size === 0) return
    this.#isWatching = true
    const now = this.#clock.monotonic()
    let next = Number.POSITIVE_INFINITY
    for (const { until } of this.#holding) next = Math.min(next, until)
    this.#clock.after(Math.max(GATHER_MS, next - now), () => {
      this.#isWatching = false
      this.#sweep()
    })
  }

  #sweep(): void {
    const now = this.#clock.monotonic()
    const unused: UnusedSlice[] = []
    for (const client of this.#holding) {
      if (!client.isOver(now)) continue
      this.#holding.delete(client)
      const part = client.takeUnused()
      if (part !== undefined) unused.push(unusedSlice(client, part))
    }
    this.#giveBack(unused)
    this.#watch()
  }

  #giveBack(unused: readonly UnusedSlice[]): void {
    for (let i = 0; i < unused.length; i += MAX_BATCH) this.#master.giveBack(unused.slice(i, i + MAX_BATCH))
  }
}

function unusedSlice({ client }: ClientBudget, part: UnusedPart): UnusedSlice {
  return { client, ...part }
}
