import type { LeaseOutcome } from '@svc/protocol'

/** A requester of leases: one connection to a worker. */
export type LeaseHolder = object

/** The reply to a waiter. */
export interface LeaseAnswer {
  readonly ticket: number
  /** Id of the lease that the ticket got, with which to end it; undefined: another had the lease, and it ended with `outcome`. */
  readonly granted: number | undefined
  readonly outcome: LeaseOutcome | undefined
}

/** The decision on a request for a lease. */
type LeaseDecision =
  /** The entry has no producer: the requester makes it. */
  | { readonly kind: 'granted'; readonly id: number }
  /** Another holder makes the entry: the reply comes later, under this ticket. */
  | { readonly kind: 'waits'; readonly ticket: number }
  /** Too many leases: the requester may make the entry, and so may others. */
  | { readonly kind: 'unbounded' }

interface Waiter {
  readonly ticket: number
  readonly holder: LeaseHolder
}

interface Lease {
  readonly id: number
  readonly key: string
  readonly holder: LeaseHolder
  waiters: Waiter[]
}

/**
 * Assigns the production of each key's entry to one holder. Only decides; `Leases` does timers and messages. A lease that ends
 * with an outcome wakes all waiters of its key; if its holder is lost, the lease passes to the first of them.
 */
export class LeaseTable {
  readonly #maxLeases: number
  readonly #byKey = new Map<string, Lease>()
  readonly #byId = new Map<number, Lease>()
  readonly #waiting = new Map<number, Lease>()
  #made = 0
  #tickets = 0

  /** @param maxLeases bound of leases, and of their waiters */
  constructor(maxLeases: number) {
    this.#maxLeases = maxLeases
  }

  get size(): number {
    return this.#byKey.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Keys with a held lease. */
  get keys(): readonly string[] {
    return [...this.#byKey.keys()]
  }

  /** True if a lease is held. */
  has(id: number): boolean {
    return this.#byId.has(id)
  }

  ask(key: string, holder: LeaseHolder): LeaseDecision {
    const lease = this.#byKey.get(key)
    if (lease === undefined) {
      if (this.#byKey.size >= this.#maxLeases) return { kind: 'unbounded' }
      return { kind: 'granted', id: this.#grant(key, holder, []) }
    }
    if (this.#waiting.size >= this.#maxLeases) return { kind: 'unbounded' }
    const ticket = ++this.#tickets
    lease.waiters.push({ ticket, holder })
    this.#waiting.set(ticket, lease)
    return { kind: 'waits', ticket }
  }

  /** Ends a holder's lease. Ignores an id that is not, or no longer, its own. */
  end(id: number, holder: LeaseHolder, outcome: LeaseOutcome): LeaseAnswer[] {
    const lease = this.#byId.get(id)
    if (lease === undefined || lease.holder !== holder) return []
    this.#remove(lease)
    for (const { ticket } of lease.waiters) this.#waiting.delete(ticket)
    return lease.waiters.map(({ ticket }) => ({ ticket, granted: undefined, outcome }))
  }

  /** Ends a lease that timed out. */
  expire(id: number): LeaseAnswer[] {
    const lease = this.#byId.get(id)
    return lease === undefined ? [] : this.#passOn(lease)
  }

  /** Drops a waiter that has aborted. */
  forget(ticket: number): void {
    const lease = this.#waiting.get(ticket)
    this.#waiting.delete(ticket)
    if (lease !== undefined) lease.waiters = lease.waiters.filter((waiter) => waiter.ticket !== ticket)
  }

  /** Ends the leases and waits of a process that has ended. */
  holderEnded(holder: LeaseHolder): LeaseAnswer[] {
    for (const lease of this.#byKey.values()) {
      for (const waiter of lease.waiters) if (waiter.holder === holder) this.#waiting.delete(waiter.ticket)
      lease.waiters = lease.waiters.filter((waiter) => waiter.holder !== holder)
    }
    const held = [...this.#byKey.values()].filter((lease) => lease.holder === holder)
    return held.flatMap((lease) => this.#passOn(lease))
  }

  #grant(key: string, holder: LeaseHolder, waiters: Waiter[]): number {
    const lease: Lease = { id: ++this.#made, key, holder, waiters }
    this.#byKey.set(key, lease)
    this.#byId.set(lease.id, lease)
    for (const { ticket } of waiters) this.#waiting.set(ticket, lease)
    return lease.id
  }

  #passOn(lease: Lease): LeaseAnswer[] {
    this.#remove(lease)
    const [next, ...others] = lease.waiters
    if (next === undefined) return []
    this.#waiting.delete(next.ticket)
    return [{ ticket: next.ticket, granted: this.#grant(lease.key, next.holder, others), outcome: undefined }]
  }

  #remove(lease: Lease): void {
    this.#byKey.delete(lease.key)
    this.#byId.delete(lease.id)
  }
}
