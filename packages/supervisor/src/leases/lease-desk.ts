import { type CallContext, type Clock, type Deferred, deferred } from '@svc/core'
import type { LeaseOutcome, LeaseReply } from '@svc/protocol'
import { type LeaseAnswer, type LeaseHolder, LeaseTable } from './lease-table.ts'

/** What a desk is made of. */
interface LeaseDeskOptions {
  readonly clock: Clock
  /** How long a lease may be held. */
  readonly timeoutMs: (key: string) => number
  /** A holder kept a lease too long. */
  readonly onExpired: (key: string) => void
  /** @default 10,000 */
  readonly maxLeases?: number
}

const MAX_LEASES = 10_000
/** The id of a lease that is not kept: ending it does nothing. */
const UNKEPT = 0

/** Gives out leases over the connections of workers: one holder per key, the others wait for its end, its death or its time. */
export class LeaseDesk {
  readonly #options: LeaseDeskOptions
  readonly #table: LeaseTable
  readonly #waiting = new Map<number, { readonly key: string; readonly answered: Deferred<LeaseReply> }>()
  readonly #timers = new Map<number, () => void>()
  readonly #gone = new WeakSet<LeaseHolder>()

  constructor(options: LeaseDeskOptions) {
    this.#options = options
    this.#table = new LeaseTable(options.maxLeases ?? MAX_LEASES)
  }

  /** Leases that are held. */
  get held(): number {
    return this.#table.size
  }

  /** Requests that wait for another's lease to end. */
  get waiting(): number {
    return this.#table.waiting
  }

  /** Answers a request: at once when nobody holds the key, else when the lease ends or comes to this one. */
  lease(holder: LeaseHolder, key: string, context: Pick<CallContext, 'onAbort'>): LeaseReply | Promise<LeaseReply> {
    // What a process has written is read after its end was noticed.
    if (this.#gone.has(holder)) return { granted: true, id: UNKEPT }
    const decision = this.#table.ask(key, holder)
    switch (decision.kind) {
      case 'granted':
        this.#watch(decision.id, key)
        return { granted: true, id: decision.id }
      case 'unbounded':
        return { granted: true, id: UNKEPT }
      case 'waits': {
        const answered = deferred<LeaseReply>()
        const { ticket } = decision
        this.#waiting.set(ticket, { key, answered })
        context.onAbort(() => {
          this.#table.forget(ticket)
          this.#waiting.delete(ticket)
        })
        return answered.promise
      }
    }
  }

  /** Whether a lease is held whose key begins with one of these. */
  isHeld(prefixes: readonly string[]): boolean {
    return this.#table.keys.some((key) => prefixes.some((prefix) => key.startsWith(prefix)))
  }

  ended(holder: LeaseHolder, id: number, outcome: LeaseOutcome): void {
    this.#answer(this.#table.end(id, holder, outcome))
    // Only the holder's own word ends the watch: the id of another's lease leaves its time running.
    if (!this.#table.has(id)) this.#unwatch(id)
  }

  /** The process at the other end of a connection has ended. */
  gone(holder: LeaseHolder): void {
    this.#gone.add(holder)
    this.#answer(this.#table.gone(holder))
    for (const id of [...this.#timers.keys()]) if (!this.#table.has(id)) this.#unwatch(id)
  }

  /** Stops all timers. */
  close(): void {
    for (const id of [...this.#timers.keys()]) this.#unwatch(id)
  }

  #watch(id: number, key: string): void {
    const cancel = this.#options.clock.after(this.#options.timeoutMs(key), () => {
      this.#timers.delete(id)
      this.#options.onExpired(key)
      this.#answer(this.#table.expire(id))
    })
    this.#timers.set(id, cancel)
  }

  #unwatch(id: number): void {
    this.#timers.get(id)?.()
    this.#timers.delete(id)
  }

  #answer(answers: readonly LeaseAnswer[]): void {
    for (const { ticket, granted, outcome } of answers) {
      const waiting = this.#waiting.get(ticket)
      this.#waiting.delete(ticket)
      if (waiting === undefined) continue
      if (granted !== undefined) this.#watch(granted, waiting.key)
      waiting.answered.resolve(
        granted === undefined ? { granted: false, id: UNKEPT, outcome } : { granted: true, id: granted, outcome: undefined },
      )
    }
  }
}
