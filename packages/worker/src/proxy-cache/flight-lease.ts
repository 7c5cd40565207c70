import type { Clock } from '@svc/core'
import type { LeaseOutcome } from '@svc/protocol'
import { acquireLease, type Lease, type LeaseDesk } from '../isr/leases.ts'

/** How long one worker waits for another, and lets others wait: past that each fetches for itself. */
const LEASE_MS = 5_000
/** What a lease may take over its time on its way. */
const LEASE_MARGIN_MS = 1_000

/** The right of a flight to be the only one of the instance for its key, for a while. */
export class FlightLease {
  readonly #desk: LeaseDesk
  readonly #clock: Pick<Clock, 'after'>
  #lease: Lease | undefined
  #cancel: (() => void) | undefined
  #isOver = false

  constructor(desk: LeaseDesk, clock: Pick<Clock, 'after'>) {
    this.#desk = desk
    this.#clock = clock
  }

  /** Resolves when the flight may go on, or with how that of another worker has ended. Never rejects. */
  async take(key: string): Promise<LeaseOutcome | 'granted'> {
    const answer = await acquireLease(this.#desk, `proxy\0${key}`, LEASE_MS + LEASE_MARGIN_MS)
    if (answer.kind === 'ended') return answer.outcome
    if (this.#isOver) {
      answer.lease.end('failed')
      return 'granted'
    }
    this.#lease = answer.lease
    this.#cancel = this.#clock.after(LEASE_MS, () => this.end('failed'))
    return 'granted'
  }

  /** Gives it back, now or when it is granted. */
  end(outcome: LeaseOutcome): void {
    this.#isOver = true
    this.#cancel?.()
    this.#cancel = undefined
    this.#lease?.end(outcome)
    this.#lease = undefined
  }
}
