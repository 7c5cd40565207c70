import type { Variance } from '../entries/entry.ts'
import type { LeaseDesk, LeaseOutcome, LeaseReply } from '../fill/lease.ts'
import type { SharedCache, SharedRight } from './shared-cache.ts'

/** Keys of leases for one fill alone end with a UUID: such a fill looks nothing up, and shares nothing. */
const OWN_KEY = /\0[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Leases that hold among all instances: the holder of the lease of this instance takes the lock of the key, unless another instance
 * has the entry. That entry is in the store then, as if another process had stored it.
 */
export class SharedLeases implements LeaseDesk {
  readonly #desk: LeaseDesk
  readonly #cache: SharedCache
  /** The keys of leases begin with it, before the key of the entry. */
  readonly #prefix: string
  /** By the id of the lease. */
  readonly #rights = new Map<number, SharedRight>()
  /** By the key of the fill. */
  readonly #byKey = new Map<string, SharedRight>()

  constructor(desk: LeaseDesk, cache: SharedCache, prefix: string) {
    this.#desk = desk
    this.#cache = cache
    this.#prefix = prefix
  }

  async lease(leaseKey: string): Promise<LeaseReply> {
    const reply = await this.#desk.lease(leaseKey)
    if (!reply.granted || reply.id === 0 || OWN_KEY.test(leaseKey)) return reply
    const key = leaseKey.slice(this.#prefix.length)
    const entered = await this.#cache.enter(key)
    if (entered.kind === 'promoted') {
      this.#desk.leaseEnded(reply.id, 'stored')
      return { granted: false, id: 0, outcome: 'stored' }
    }
    this.#rights.set(reply.id, entered.right)
    this.#byKey.set(key, entered.right)
    return reply
  }

  leaseEnded(id: number, outcome: LeaseOutcome): void {
    const right = this.#rights.get(id)
    if (right !== undefined) {
      this.#rights.delete(id)
      if (this.#byKey.get(right.key) === right) this.#byKey.delete(right.key)
      this.#cache.leave(right, outcome)
    }
    this.#desk.leaseEnded(id, outcome)
  }

  /** Shares the entry that a fill of this process has stored, if the fill still has the lease. See `SharedCache.share`. */
  share(fillKey: string, key: string, reads?: Variance): void {
    const right = this.#byKey.get(fillKey)
    if (right !== undefined) this.#cache.share(right, key, reads)
  }

  isHeld(prefixes: readonly string[]): Promise<boolean> {
    return this.#desk.isHeld(prefixes)
  }
}
