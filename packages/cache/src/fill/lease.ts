import { randomUUID } from 'node:crypto'
import type { Clock } from '@svc/core'

/** How a lease ended: the entry is stored, the response cannot be shared, or there is none. */
export type LeaseOutcome = 'stored' | 'pass' | 'failed'

/** The response to a process that requests a lease: it holds the lease now, or the lease of another process has ended. */
export interface LeaseReply {
  readonly granted: boolean
  /** To be given back with `leaseEnded`; 0: not granted, or the desk has no room to remember it. */
  readonly id: number
  readonly outcome?: LeaseOutcome | undefined
}

/** The connection to the process that grants leases: the master. */
export interface LeaseDesk {
  /** Answers when the lease is granted, or when the lease of another process has ended. Rejects when the master has disconnected. */
  lease(key: string): Promise<LeaseReply>
  leaseEnded(id: number, outcome: LeaseOutcome): void
  /** True if a process of the instance holds a lease whose key begins with one of these. Rejects when the master has disconnected. */
  isHeld(prefixes: readonly string[]): Promise<boolean>
}

/** The result of asking for the right to fill a key. */
type LeaseAnswer =
  | { readonly kind: 'granted'; readonly lease: Lease }
  /** Another process had the lease, and it has ended. */
  | { readonly kind: 'ended'; readonly outcome: LeaseOutcome }

/** Past this a lease is renewed or given up: less than the master grants it for. */
const RENEW_MS = 30_000

/** The right to fill a key, alone in the instance. While it is held, the other processes can find out about the fill. */
export class Lease {
  readonly #key: string
  readonly #clock: Pick<Clock, 'after'>
  readonly #desk: LeaseDesk
  /** 0: the desk does not know about the fill, and the lease ends silently. */
  #id: number
  #cancelLimit: (() => void) | undefined
  #isEnded = false

  constructor(desk: LeaseDesk, key: string, id: number, clock: Pick<Clock, 'after'>) {
    this.#desk = desk
    this.#key = key
    this.#id = id
    this.#clock = clock
  }

  /** False: no other process can find out about the fill. */
  get isHeld(): boolean {
    return this.#id !== 0
  }

  /** Lets other processes fill the key too if it is still held after `limitMs`. Replaces an earlier limit. */
  limit(limitMs: number): void {
    if (this.#isEnded || !this.isHeld) return
    this.#cancelLimit?.()
    this.#cancelLimit = this.#clock.after(limitMs, () => void this.#stepAside())
  }

  /** Gives the lease back. Only the first call counts. */
  end(outcome: LeaseOutcome): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#cancelLimit?.()
    if (this.isHeld) this.#desk.leaseEnded(this.#id, outcome)
  }

  /** Exchanges the lease for one that no other process waits for. Never rejects. */
  async #stepAside(): Promise<void> {
    const next = await acquireLease(this.#desk, ownKey(this.#key), RENEW_MS, this.#clock)
    if (next.kind === 'ended') return
    if (this.#isEnded) {
      next.lease.end('failed')
      return
    }
    if (this.isHeld) this.#desk.leaseEnded(this.#id, 'failed')
    this.#id = next.lease.#id
    this.limit(RENEW_MS)
  }
}

/** The key of a lease for one fill alone, which waits for no other process. It begins with the key of the entry. */
export function ownKey(key: string): string {
  return `${key}\0${randomUUID()}`
}

/**
 * Requests the right to fill a key. A process that waits too long, or cannot send the request, fills without it: a response that is produced
 * twice is better than none. A lease that is granted after all then goes back at once: only the asker can end it. Never rejects.
 */
export async function acquireLease(
  desk: LeaseDesk,
  key: string,
  timeoutMs: number,
  clock: Pick<Clock, 'after'>,
): Promise<LeaseAnswer> {
  const reply = desk.lease(key)
  try {
    const { granted, id, outcome } = await inTime(reply, timeoutMs, clock)
    return granted ? { kind: 'granted', lease: new Lease(desk, key, id, clock) } : { kind: 'ended', outcome: outcome ?? 'failed' }
  } catch {
    // Too late, or the master is gone.
    reply.then(
      ({ granted, id }) => granted && desk.leaseEnded(id, 'failed'),
      () => undefined,
    )
    return { kind: 'granted', lease: new Lease(desk, key, 0, clock) }
  }
}

function inTime(reply: Promise<LeaseReply>, timeoutMs: number, clock: Pick<Clock, 'after'>): Promise<LeaseReply> {
  return new Promise((resolve, reject) => {
    // Timers come before messages in a turn of the event loop, immediates after them: a reply that arrived while this process
    // was busy still counts.
    const cancel = clock.after(timeoutMs, () => setImmediate(reject))
    reply.then(resolve, reject).finally(cancel)
  })
}

/** The keys of leases for responses of upstreams begin with it and a NUL, others with the label of a site: no label begins with a colon. */
export const PROXY_LEASE_KIND = ':proxy'
