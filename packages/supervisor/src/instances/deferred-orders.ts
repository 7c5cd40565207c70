import { readFile } from 'node:fs/promises'
import { EVERYTHING, type PurgeOrder } from '@svc/cache'
import { codeOf, replaceFile } from '@svc/core'

/** Past these bounds one purge of everything replaces the orders. */
const MAX_ORDERS = 10_000
const MAX_CHARS = 16 << 20

/** Purges of this instance that the others, and the shared cache, do not know of yet. They survive a crash. */
export class DeferredOrders {
  readonly #file: string
  #orders: PurgeOrder[]
  #chars: number
  #isSaved = true
  #saving: Promise<void> = Promise.resolve()

  private constructor(file: string, orders: PurgeOrder[]) {
    this.#file = file
    this.#orders = orders
    this.#chars = charsOf(orders)
  }

  /** Reads the orders that an earlier master left. A damaged file stands for a purge of everything. */
  static async open(file: string): Promise<DeferredOrders> {
    try {
      const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
      return new DeferredOrders(
        file,
        lines.map((line) => JSON.parse(line) as PurgeOrder),
      )
    } catch (error) {
      return new DeferredOrders(file, codeOf(error) === 'ENOENT' ? [] : [EVERYTHING])
    }
  }

  get size(): number {
    return this.#orders.length
  }

  /** The oldest order. */
  get first(): PurgeOrder | undefined {
    return this.#orders[0]
  }

  /** Resolves when it is on the disk. Rejects if it cannot be written: then a restart of the master forgets it. */
  add(order: PurgeOrder): Promise<void> {
    this.#orders.push(order)
    this.#chars += charsOf([order])
    if (this.#orders.length > MAX_ORDERS || this.#chars > MAX_CHARS) {
      this.#orders = [EVERYTHING]
      this.#chars = 0
    }
    return this.#save()
  }

  /** The oldest order is sent: rejects as `add` does. */
  shift(): Promise<void> {
    this.#orders.shift()
    return this.#save()
  }

  /** Writes the whole file; calls during a write share the next one. */
  #save(): Promise<void> {
    if (!this.#isSaved) return this.#saving
    this.#isSaved = false
    this.#saving = this.#saving
      .catch(() => undefined)
      .then(() => {
        this.#isSaved = true
        return replaceFile(this.#file, this.#orders.map((order) => `${JSON.stringify(order)}\n`).join(''), true)
      })
    return this.#saving
  }
}

function charsOf(orders: readonly PurgeOrder[]): number {
  return orders.reduce((sum, order) => sum + JSON.stringify(order).length, 0)
}
