import type { Clock } from '@svc/core'

interface Known {
  readonly isRight: boolean
  readonly forgottenAt: number
}

/** Time for which an outcome is remembered after it was last asked for. */
const LIFETIME_MS = 600_000
/** Outcomes of each kind that are remembered. */
const MAX_KNOWN = 10_000

/** Outcomes of lately, by digest. Right and wrong ones are apart: no number of wrong guesses makes a right one forgotten. */
export class KnownOutcomes {
  readonly #clock: Clock
  /** Those that were asked for longest ago first. */
  readonly #right = new Map<string, Known>()
  readonly #wrong = new Map<string, Known>()
  #isTimed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  find(digest: string): boolean | undefined {
    const known = this.#right.get(digest) ?? this.#wrong.get(digest)
    if (known === undefined || known.forgottenAt <= this.#clock.monotonic()) return undefined
    this.remember(digest, known.isRight)
    return known.isRight
  }

  remember(digest: string, isRight: boolean): void {
    const table = isRight ? this.#right : this.#wrong
    table.delete(digest)
    table.set(digest, { isRight, forgottenAt: this.#clock.monotonic() + LIFETIME_MS })
    const [oldest] = table.size > MAX_KNOWN ? table.keys() : []
    if (oldest !== undefined) table.delete(oldest)
    this.#forgetLater()
  }

  /** Nothing stays for want of being asked for. */
  #forgetLater(): void {
    if (this.#isTimed || this.#right.size + this.#wrong.size === 0) return
    this.#isTimed = true
    this.#clock.after(LIFETIME_MS, () => {
      this.#isTimed = false
      const now = this.#clock.monotonic()
      for (const table of [this.#right, this.#wrong]) {
        for (const [digest, { forgottenAt }] of table) if (forgottenAt <= now) table.delete(digest)
      }
      this.#forgetLater()
    })
  }
}
