/** Orders in one message. */
const MAX_BATCH = 200

interface Waiting<Order, Reply> {
  readonly order: Order
  readonly resolve: (reply: Reply | undefined) => void
}

/** Sends orders to the master, those of a turn in one message. */
export class TurnBatch<Order, Reply> {
  readonly #send: (orders: readonly Order[]) => Promise<readonly Reply[]>
  #waiting: Waiting<Order, Reply>[] = []

  /** @param send may reject: its orders have no reply then */
  constructor(send: (orders: readonly Order[]) => Promise<readonly Reply[]>) {
    this.#send = send
  }

  /** Resolves with the reply; undefined: the master has not replied in time. Never rejects. */
  add(order: Order): Promise<Reply | undefined> {
    const { promise, resolve } = Promise.withResolvers<Reply | undefined>()
    this.#waiting.push({ order, resolve })
    if (this.#waiting.length === 1) setImmediate(() => this.#flush())
    return promise
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (let i = 0; i < waiting.length; i += MAX_BATCH) void this.#sendBatch(waiting.slice(i, i + MAX_BATCH))
  }

  async #sendBatch(batch: readonly Waiting<Order, Reply>[]): Promise<void> {
    let replies: readonly Reply[] = []
    try {
      replies = await this.#send(batch.map(({ order }) => order))
    } catch {
      // The master is away or busy: this worker decides by itself.
    }
    for (const [index, { resolve }] of batch.entries()) resolve(replies[index])
  }
}
