import { acquireLease, type Lease, type LeaseDesk } from '@svc/cache'
import type { Clock } from '@svc/core'
import type { LeaseOutcome } from '@svc/protocol'

/** Keys of the store begin with the label and the URI. */
const KIND = 'proxy\0'
/** How long other workers are made to wait for an upstream to begin its answer: past that each asks for itself. */
const HEAD_MS = 30_000
/** How long they are made to wait for the rest of it. */
const BODY_MS = 5_000
/** What a lease may take over its time on its way. */
const MARGIN_MS = 1_000

/** What the keys of the leases for a resource begin with, whatever else its answers depend on. */
export function leasePrefix(label: string, uri: string): string {
  return `${KIND}${label}\0${uri}\0`
}

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
    const answer = await acquireLease(this.#desk, `${KIND}${key}`, HEAD_MS + BODY_MS + MARGIN_MS, this.#clock)
    if (answer.kind === 'ended') return answer.outcome
    if (this.#isOver) {
      answer.lease.end('failed')
      return 'granted'
    }
    this.#lease = answer.lease
    this.#cancel = this.#clock.after(HEAD_MS, () => this.end('failed'))
    return 'granted'
  }

  /** The answer has begun: it is stored soon, or it is so long that nobody should wait for it. */
  begun(): void {
    if (this.#lease === undefined) return
    this.#cancel?.()
    this.#cancel = this.#clock.after(BODY_MS, () => this.end('failed'))
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
