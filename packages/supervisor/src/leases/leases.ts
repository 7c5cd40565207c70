import { hash } from 'node:crypto'
import type { CallContext, Clock } from '@svc/core'
import type { LeaseOutcome, LeaseReply } from '@svc/protocol'
import { type LeaseAnswer, type LeaseHolder, LeaseTable } from './lease-table.ts'

/** Options of a `Leases`. */
interface LeasesOptions {
  readonly clock: Clock
  /** Longest time that a lease may be held. */
  readonly timeoutMs: (key: string) => number
  /** A holder exceeded the time of its lease. */
  readonly onExpired: (key: string) => void
  /** @default 10,000 */
  readonly maxLeases?: number
}

const MAX_LEASES = 10_000
/** The id of an untracked lease: ending it does nothing. */
const UNKEPT = 0
/** Clients choose how long the keys of upstreams' responses are. */
const MAX_KEY_CHARS = 1_024

/** Cuts a long key to its beginning, by which it is found, and a digest of the whole. */
function boundedKey(key: string): string {
  return key.length <= MAX_KEY_CHARS ? key : `${key.slice(0, MAX_KEY_CHARS)}\0${hash('sha256', key, 'base64url')}`
}

/** Grants leases over the connections of workers: one holder per key; the others wait until it ends, dies or times out. */
export class Leases {
  readonly #options: LeasesOptions
  readonly #table: LeaseTable
  readonly #waiting = new Map<number, { readonly key: string; readonly answered: PromiseWithResolvers<LeaseReply> }>()
  readonly #timers = new Map<number, () => void>()
  readonly #ended = new WeakSet<LeaseHolder>()

  constructor(options: LeasesOptions) {
    this.#options = options
    this.#table = new LeaseTable(options.maxLeases ?? MAX_LEASES)
  }

  /** Number of held leases. */
  get held(): number {
    return this.#table.size
  }

  /** Number of requests that wait for another holder's lease to end. */
  get waiting(): number {
    return this.#table.waiting
  }

  /** Replies at once if the key is free, otherwise when the lease ends or passes to this holder. */
  lease(holder: LeaseHolder, wanted: string, context: Pick<CallContext, 'onAbort'>): LeaseReply | Promise<LeaseReply> {
    const key = boundedKey(wanted)
    // Messages of a process may be read after its end was noticed.
    if (this.#ended.has(holder)) return { granted: true, id: UNKEPT }
    const decision = this.#table.ask(key, holder)
    switch (decision.kind) {
      case 'granted':
        this.#watch(decision.id, key)
        return { granted: true, id: decision.id }
      case 'unbounded':
        return { granted: true, id: UNKEPT }
      case 'waits': {
        const answered = Promise.withResolvers<LeaseReply>()
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

  /** True if a lease is held whose key begins with one of these, or may begin with a long one. */
  isHeld(prefixes: readonly string[]): boolean {
    const wanted = prefixes.map((prefix) => prefix.slice(0, MAX_KEY_CHARS))
    return this.#table.keys.some((key) => wanted.some((prefix) => key.startsWith(prefix)))
  }

  ended(holder: LeaseHolder, id: number, outcome: LeaseOutcome): void {
    this.#answer(this.#table.end(id, holder, outcome))
    // Only the holder itself ends the watch: the id of another's lease leaves its timer running.
    if (!this.#table.has(id)) this.#unwatch(id)
  }

  /** The process at the other end of a connection has ended. */
  holderEnded(holder: LeaseHolder): void {
    this.#ended.add(holder)
    this.#answer(this.#table.holderEnded(holder))
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
