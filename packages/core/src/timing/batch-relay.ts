import { type Clock, systemClock } from './clock.ts'

/** Items in order. */
interface Batch<Item> {
  readonly items: Item[]
  /** Number of items that were dropped since the batch before. */
  readonly dropped: number
}

interface BatchRelayOptions<Item> {
  /** Most items of a batch. */
  readonly maxItems: number
  /** Most weight of the items of a batch together. */
  readonly maxWeight: number
  readonly weightOf: (item: Item) => number
  readonly clock?: Clock | undefined
}

/** A batch waits for its predecessor, and for this: with the bounds of a batch it limits the rate of a process. */
const PAUSE_MS = 100

/**
 * Sends items to another process, a batch at a time. It never holds more than a batch: items that come faster than the receiver takes
 * them are dropped here, and counted.
 */
export class BatchRelay<Item> {
  readonly #options: BatchRelayOptions<Item>
  #items: Item[] = []
  #weight = 0
  #dropped = 0
  #send: ((batch: Batch<Item>) => Promise<unknown>) | undefined
  #isBusy = false

  constructor(options: BatchRelayOptions<Item>) {
    this.#options = options
  }

  /** Queues an item. */
  readonly take = (item: Item): void => {
    const { maxItems, maxWeight, weightOf } = this.#options
    const weight = weightOf(item)
    if (this.#items.length >= maxItems || this.#weight + weight > maxWeight) this.#dropped++
    else {
      this.#items.push(item)
      this.#weight += weight
    }
    this.#schedule()
  }

  /** Begins to send, the queued items first. Items of a batch that `send` rejects count as dropped. */
  connect(send: (batch: Batch<Item>) => Promise<unknown>): void {
    this.#send = send
    if (this.#items.length > 0) this.#schedule()
  }

  #schedule(): void {
    const send = this.#send
    if (this.#isBusy || send === undefined) return
    this.#isBusy = true
    const { clock = systemClock } = this.#options
    clock.after(PAUSE_MS, () => void this.#flush(send))
  }

  async #flush(send: (batch: Batch<Item>) => Promise<unknown>): Promise<void> {
    const batch = { items: this.#items, dropped: this.#dropped }
    this.#items = []
    this.#weight = 0
    this.#dropped = 0
    try {
      await send(batch)
    } catch {
      // The receiver is gone or hangs.
      this.#dropped += batch.dropped + batch.items.length
    }
    this.#isBusy = false
    if (this.#items.length > 0) this.#schedule()
  }
}
