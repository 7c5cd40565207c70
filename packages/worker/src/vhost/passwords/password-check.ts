import { createHmac, randomBytes } from 'node:crypto'
import { SingleFlight } from '@svc/core'
import { quickCheck } from './quick-check.ts'
import { isKnownForm } from './slow-check.ts'

/** Checks slow passwords where nobody waits for them. Concurrent calls are the rule. */
export interface SlowChecker {
  /** Whether there are too many to take another one. */
  readonly isBusy: boolean
  /** Rejects when it could not be checked. */
  check(password: Uint8Array, stored: string): Promise<boolean>
}

/** Outcomes that are remembered. */
const MAX_KNOWN = 10_000

/**
 * Whether a password fits its stored form. A slow form is worked out once for each pair: what is remembered is a keyed digest of
 * both and the outcome, which never changes.
 */
export class PasswordCheck {
  readonly #thread: SlowChecker
  readonly #key = randomBytes(32)
  /** The oldest first. */
  readonly #known = new Map<string, boolean>()
  readonly #flight = new SingleFlight<string, boolean>()

  constructor(thread: SlowChecker) {
    this.#thread = thread
  }

  /** `busy`: too many are being worked out. A form that is not known fits nothing. */
  check(password: Buffer, stored: string): boolean | 'busy' | Promise<boolean> {
    const quick = quickCheck(password, stored)
    if (quick !== undefined) return quick
    if (!isKnownForm(stored)) return false
    const digest = createHmac('sha256', this.#key).update(stored).update('\0').update(password).digest('base64')
    const known = this.#known.get(digest)
    if (known !== undefined) return known
    if (this.#thread.isBusy) return 'busy'
    return this.#flight.run(digest, async () => {
      const isRight = await this.#thread.check(password, stored)
      this.#remember(digest, isRight)
      return isRight
    })
  }

  #remember(digest: string, isRight: boolean): void {
    this.#known.set(digest, isRight)
    const oldest = this.#known.size > MAX_KNOWN ? this.#known.keys().next().value : undefined
    if (oldest !== undefined) this.#known.delete(oldest)
  }
}
