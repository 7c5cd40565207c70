import type { Clock } from '@svc/core'

/** How a lease ended: the entry is stored, the response cannot be shared, or there is none. */
export type LeaseOutcome = 'stored' | 'pass' | 'failed'

/** The response to a process that requests a lease: it holds the lease now, or the lease of another process has ended. */
export interface LeaseReply {
  readonly granted: boolean
  /** To be given back with `leaseEnded`; 0 when not granted. */
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

/** The right to fill a key, alone in the instance. */
export class Lease {
  readonly #giveBack: ((outcome: LeaseOutcome) => void) | undefined
  readonly #clock: Pick<Clock, 'after'>
  #cancelLimit: (() => void) | undefined
  #isEnded = false

  /** @param giveBack undefined: no desk granted the lease, so it ends silently */
  constructor(clock: Pick<Clock, 'after'>, giveBack?: (outcome: LeaseOutcome) => void) {
    this.#clock = clock
    this.#giveBack = giveBack
  }

  /** Ends the lease early, as failed, if it is still held after `limitMs`. Replaces an earlier limit. */
  limit(limitMs: number): void {
    if (this.#isEnded) return
    this.#cancelLimit?.()
    this.#cancelLimit = this.#clock.after(limitMs, () => this.end('failed'))
  }

  /** Gives the lease back. Only the first call counts. */
  end(outcome: LeaseOutcome): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#cancelLimit?.()
    this.#giveBack?.(outcome)
  }
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
  const asked = desk.lease(key)
  try {
    const { granted, id, outcome } = await inTime(asked, timeoutMs, clock)
    if (granted) return { kind: 'granted', lease: new Lease(clock, (how) => desk.leaseEnded(id, how)) }
    return { kind: 'ended', outcome: outcome ?? 'failed' }
  } catch {
    // Too late, or the master is gone.
    asked.then(
      ({ granted, id }) => granted && desk.leaseEnded(id, 'failed'),
      () => undefined,
    )
    return { kind: 'granted', lease: new Lease(clock) }
  }
}

function inTime(asked: Promise<LeaseReply>, timeoutMs: number, clock: Pick<Clock, 'after'>): Promise<LeaseReply> {
  return new Promise((resolve, reject) => {
    // Timers come before messages in a turn of the event loop, immediates after them: a reply that arrived while this process
    // was busy still counts.
    const cancel = clock.after(timeoutMs, () => setImmediate(reject))
    asked.then(resolve, reject).finally(cancel)
  })
}
