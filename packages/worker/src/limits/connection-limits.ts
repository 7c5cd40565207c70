import type { ConnectionOrder, ConnectionReply } from '@svc/protocol'
import { TurnBatch } from './turn-batch.ts'

/** A limit of the requests in progress with one key. */
interface ConnectionLimit {
  readonly zone: string
  readonly key: string
  readonly max: number
}

/** The master, as far as it counts requests in progress. */
interface ConnectionCounter {
  begin(orders: readonly ConnectionOrder[]): Promise<readonly ConnectionReply[]>
  end(ids: readonly number[]): void
}

/** A request in progress that is counted. */
export interface CountedRequest {
  /** Must be called at its end; again it does nothing. */
  release(): void
}

/** Limits requests in progress by `limit_conn`. The master counts those of all workers; this worker counts its own besides. */
export class ConnectionLimits {
  readonly #counter: ConnectionCounter
  readonly #batch: TurnBatch<ConnectionOrder, ConnectionReply>
  readonly #own = new Map<string, number>()
  #lastId = 0
  #ended: number[] = []

  constructor(counter: ConnectionCounter) {
    this.#counter = counter
    this.#batch = new TurnBatch((orders) => counter.begin(orders))
  }

  /** Undefined: a limit is reached. Never rejects. */
  count(limits: readonly ConnectionLimit[]): Promise<CountedRequest | undefined> | undefined {
    const names = limits.map(({ zone, key }) => `${zone}\0${key}`)
    if (limits.some(({ max }, index) => (this.#own.get(names[index] ?? '') ?? 0) >= max)) return undefined
    for (const name of names) this.#own.set(name, (this.#own.get(name) ?? 0) + 1)
    return this.#ask(limits, names)
  }

  async #ask(limits: readonly ConnectionLimit[], names: readonly string[]): Promise<CountedRequest | undefined> {
    const id = ++this.#lastId
    const reply = await this.#batch.add({ id, limits: [...limits] })
    if (reply === 'refused') {
      this.#release(names)
      return undefined
    }
    let isOver = false
    return {
      release: () => {
        if (isOver) return
        isOver = true
        this.#release(names)
        // Also without a reply: the master may have counted it too late.
        this.#end(id)
      },
    }
  }

  #release(names: readonly string[]): void {
    for (const name of names) {
      const count = this.#own.get(name) ?? 0
      if (count > 1) this.#own.set(name, count - 1)
      else this.#own.delete(name)
    }
  }

  #end(id: number): void {
    this.#ended.push(id)
    if (this.#ended.length > 1) return
    setImmediate(() => {
      const ids = this.#ended
      this.#ended = []
      this.#counter.end(ids)
    })
  }
}
