import { withDeadline } from '@svc/core'
import type { LeaseOutcome, LeaseReply } from '@svc/protocol'

/** The line to whoever gives out leases: the master. */
export interface LeaseDesk {
  /** Answers when the lease is granted, or when another's has ended. Rejects when the desk is gone. */
  lease(key: string): Promise<LeaseReply>
  leaseEnded(id: number, outcome: LeaseOutcome): void
  /** Whether anybody in the instance holds a lease whose key begins with one of these. Rejects when the desk is gone. */
  isHeld(prefixes: readonly string[]): Promise<boolean>
}

/** What came of asking for the right to make an entry. */
export type LeaseAnswer =
  | { readonly kind: 'granted'; readonly lease: Lease }
  /** Another one had it, and it has ended. */
  | { readonly kind: 'ended'; readonly outcome: LeaseOutcome }

/** The right to make the entry of a key, alone in the instance. */
export class Lease {
  readonly #desk: LeaseDesk | undefined
  readonly #id: number

  /** Without a desk it is a right that nobody gave: it ends silently. */
  constructor(desk: LeaseDesk | undefined, id: number) {
    this.#desk = desk
    this.#id = id
  }

  /** Gives the right back. */
  end(outcome: LeaseOutcome): void {
    this.#desk?.leaseEnded(this.#id, outcome)
  }
}

/** The right of who may not wait for another's render. */
export function withoutLease(): LeaseAnswer {
  return { kind: 'granted', lease: new Lease(undefined, 0) }
}

/**
 * Asks for the right to make an entry. Whoever waited in vain, or cannot ask, makes it without: a page that is rendered twice
 * is better than none. A lease that is granted after all then goes back at once: the asker alone can end it.
 */
export async function acquireLease(desk: LeaseDesk, key: string, timeoutMs: number): Promise<LeaseAnswer> {
  const asked = desk.lease(key)
  try {
    const reply = await withDeadline(asked, timeoutMs, 'waiting for a lease')
    if (reply.granted) return { kind: 'granted', lease: new Lease(desk, reply.id) }
    return { kind: 'ended', outcome: reply.outcome ?? 'failed' }
  } catch {
    // Too late, or the master is gone.
    asked.then(
      ({ granted, id }) => granted && desk.leaseEnded(id, 'failed'),
      () => undefined,
    )
    return withoutLease()
  }
}
