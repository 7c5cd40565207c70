import { hash } from 'node:crypto'
import { PROXY_LEASE_KIND } from '@svc/cache'
import { type CallContext, type Clock, SharedPlaces } from '@svc/core'
import type { LeaseOutcome, LeaseReply } from '@svc/protocol'

/** A requester of leases: one connection to a worker. */
type LeaseHolder = object

/** Options of a `Leases`. */
interface LeasesOptions {
  readonly clock: Pick<Clock, 'after'>
  /** Longest time that a lease may be held. */
  readonly timeoutMs: (key: string) => number
  /** A holder exceeded the time of its lease. */
  readonly onExpired: (key: string) => void
  /** Bound of leases, and of requests that wait for one, for all labels together: each has a share. @default 20,000 */
  readonly maxLeases?: number
}

const MAX_LEASES = 20_000
/** The id of an untracked lease: ending it does nothing. */
const UNTRACKED = 0
/** Clients choose how long the keys of upstreams' responses are. */
const MAX_KEY_CHARS = 1_024

/** Cuts a long key to its beginning, by which it is found, and a digest of the whole. */
function boundedKey(key: string): string {
  return key.length <= MAX_KEY_CHARS ? key : `${key.slice(0, MAX_KEY_CHARS)}\0${hash('sha256', key, 'base64url')}`
}

/** The label of the site or location that a key is of: the keys of a proxy cache begin with their kind. */
function labelOf(key: string): string {
  const [first = '', second = ''] = key.split('\0', 2)
  return first === PROXY_LEASE_KIND ? second : first
}

interface Waiter {
  readonly holder: LeaseHolder
  readonly label: string
  readonly answer: (reply: LeaseReply) => void
}

interface Lease {
  readonly id: number
  readonly key: string
  readonly holder: LeaseHolder
  /** In the order of their requests. They pass on to the next lease of the key. */
  readonly waiters: Set<Waiter>
  readonly cancelTimeout: () => void
}

/**
 * Assigns the production of each key's entry to one connection of a worker. A lease that ends with an outcome wakes all waiters of
 * its key; if its holder is lost or exceeds its time, the lease passes to the first of them.
 */
export class Leases {
  readonly #options: LeasesOptions
  readonly #byKey = new Map<string, Lease>()
  readonly #byId = new Map<number, Lease>()
  readonly #ended = new WeakSet<LeaseHolder>()
  readonly #held: SharedPlaces
  readonly #waiting: SharedPlaces
  #made = 0

  constructor(options: LeasesOptions) {
    const { maxLeases = MAX_LEASES } = options
    this.#options = options
    this.#held = new SharedPlaces(maxLeases)
    this.#waiting = new SharedPlaces(maxLeases)
  }

  /** Number of held leases. */
  get held(): number {
    return this.#byKey.size
  }

  /** Number of requests that wait for another holder's lease to end. */
  get waiting(): number {
    return this.#waiting.taken
  }

  /**
   * Replies at once if the key is free, otherwise when the lease ends or passes to this holder. Past the share of its label several
   * holders may fill a key.
   */
  lease(holder: LeaseHolder, wanted: string, context: Pick<CallContext, 'onAbort'>): LeaseReply | Promise<LeaseReply> {
    const key = boundedKey(wanted)
    const current = this.#byKey.get(key)
    const label = labelOf(key)
    const places = current === undefined ? this.#held : this.#waiting
    // Messages of a process may be read after its end was noticed.
    if (!places.hasRoom(label) || this.#ended.has(holder)) return { granted: true, id: UNTRACKED }
    if (current === undefined) return this.#grant(key, holder, new Set())
    const { waiters } = current
    const { promise, resolve } = Promise.withResolvers<LeaseReply>()
    const waiter = { holder, label, answer: resolve }
    waiters.add(waiter)
    this.#waiting.take(label)
    context.onAbort(() => this.#forget(waiters, waiter))
    return promise
  }

  /** True if a lease is held whose key begins with one of these, or may begin with a long one. */
  isHeld(prefixes: readonly string[]): boolean {
    const wanted = prefixes.map((prefix) => prefix.slice(0, MAX_KEY_CHARS))
    return [...this.#byKey.keys()].some((key) => wanted.some((prefix) => key.startsWith(prefix)))
  }

  /** Ends a holder's lease. Ignores an id that is not, or no longer, its own. */
  ended(holder: LeaseHolder, id: number, outcome: LeaseOutcome): void {
    const lease = this.#byId.get(id)
    if (lease === undefined || lease.holder !== holder) return
    this.#remove(lease)
    for (const waiter of lease.waiters) {
      this.#forget(lease.waiters, waiter)
      waiter.answer({ granted: false, id: UNTRACKED, outcome })
    }
  }

  /** The process at the other end of a connection has ended. */
  holderEnded(holder: LeaseHolder): void {
    this.#ended.add(holder)
    const leases = [...this.#byKey.values()]
    for (const { waiters } of leases) {
      for (const waiter of waiters) if (waiter.holder === holder) this.#forget(waiters, waiter)
    }
    for (const lease of leases) if (lease.holder === holder) this.#passOn(lease)
  }

  /** Stops all timers. */
  close(): void {
    for (const { cancelTimeout } of this.#byKey.values()) cancelTimeout()
  }

  #grant(key: string, holder: LeaseHolder, waiters: Set<Waiter>): LeaseReply {
    const { clock, timeoutMs, onExpired } = this.#options
    const id = ++this.#made
    const cancelTimeout = clock.after(timeoutMs(key), () => {
      onExpired(key)
      this.#passOn(lease)
    })
    const lease: Lease = { id, key, holder, waiters, cancelTimeout }
    this.#byKey.set(key, lease)
    this.#held.take(labelOf(key))
    this.#byId.set(id, lease)
    return { granted: true, id }
  }

  #passOn(lease: Lease): void {
    const { key, waiters } = lease
    this.#remove(lease)
    const [next] = waiters
    if (next === undefined) return
    this.#forget(waiters, next)
    next.answer(this.#grant(key, next.holder, waiters))
  }

  #remove({ id, key, cancelTimeout }: Lease): void {
    cancelTimeout()
    this.#byKey.delete(key)
    this.#held.free(labelOf(key))
    this.#byId.delete(id)
  }

  #forget(waiters: Set<Waiter>, waiter: Waiter): void {
    if (waiters.delete(waiter)) this.#waiting.free(waiter.label)
  }
}
