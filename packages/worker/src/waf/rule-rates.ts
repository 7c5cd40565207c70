import { type TurnClock, withDeadline } from '@svc/core'
import { clientNetwork } from '@svc/http'

interface RateOrder {
  readonly rule: string
  readonly client: string
}

type CountMatch = (order: RateOrder) => Promise<{ readonly isOver: boolean; readonly retryMs: number }>

/** How long a request waits for the count of the master. */
const MAX_WAIT_MS = 20
/** A client that is over a rate is not asked about again for so long: the rule may change. */
const MAX_OVER_MS = 1_000
/** Clients over a rate that are remembered. */
const MAX_KNOWN = 32_768

/** Asks the master whether a client is over the rate of a rule. Clients that are over it are remembered here: they may send a lot. */
export class RuleRates {
  readonly #count: CountMatch
  readonly #clock: TurnClock
  readonly #overUntil = new Map<string, number>()
  readonly #onUndecided: () => void

  /** @param onUndecided called for a match that the master did not count in time */
  constructor(count: CountMatch, clock: TurnClock, onUndecided: () => void) {
    this.#count = count
    this.#clock = clock
    this.#onUndecided = onUndecided
  }

  /** Counts a match. Resolves with true if the rule acts on it; never rejects. A client without an address is over no rate. */
  async isOver(rule: string, address: string): Promise<boolean> {
    const client = clientNetwork(address)
    if (client === '') return false
    const key = `${rule} ${client}`
    const until = this.#overUntil.get(key)
    if (until !== undefined && this.#clock.turn() < until) return true
    try {
      const { isOver, retryMs } = await withDeadline(this.#count({ rule, client }), MAX_WAIT_MS, 'a count')
      if (isOver) this.#remember(key, Math.min(retryMs, MAX_OVER_MS))
      return isOver
    } catch {
      // The master is away or held up: the rule does not act.
      this.#onUndecided()
      return false
    }
  }

  #remember(key: string, ms: number): void {
    if (this.#overUntil.size >= MAX_KNOWN) this.#overUntil.clear()
    this.#overUntil.set(key, this.#clock.turn() + ms)
  }
}
