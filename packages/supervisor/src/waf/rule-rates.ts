import type { WafRule } from '@svc/config'
import type { Clock } from '@svc/core'
import { ClientWindows } from '../rate-limit/client-windows.ts'

/** Parts of a window that are counted apart: a match is forgotten at most one of them after its window. */
const PARTS = 16
/** Clients that are counted at a time, over all rules. */
const MAX_CLIENTS = 65_536
const MIN_CLIENTS_OF_RULE = 64

interface RuleCount {
  readonly count: number
  readonly partMs: number
  readonly windows: ClientWindows
}

/** Counts the matches of rules that act only above a rate, by client, over all workers of the instance. */
export class RuleRates {
  readonly #rules: () => readonly WafRule[]
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #counts = new Map<string, RuleCount>()
  #served: readonly WafRule[] | undefined

  constructor(rules: () => readonly WafRule[], clock: Pick<Clock, 'monotonic'>) {
    this.#rules = rules
    this.#clock = clock
  }

  /** Counts a match, unless the client is over the rate of the rule. */
  take(id: string, client: string): { readonly isOver: boolean; readonly retryMs: number } {
    this.#follow()
    const own = this.#counts.get(id)
    // A worker may still serve a rule that is gone.
    if (own === undefined) return { isOver: false, retryMs: 0 }
    const now = this.#clock.monotonic()
    const part = Math.floor(now / own.partMs)
    const window = own.windows.of(client, part)
    if (window.total >= own.count) {
      return { isOver: true, retryMs: Math.max(0, (window.freedAt ?? part) * own.partMs - now) }
    }
    window.add(part, 1)
    return { isOver: false, retryMs: 0 }
  }

  /** Rules whose rate has not changed keep their counts. */
  #follow(): void {
    const rules = this.#rules()
    if (rules === this.#served) return
    this.#served = rules
    const limited = rules.filter(({ rate }) => rate !== undefined)
    const maxClients = Math.max(MIN_CLIENTS_OF_RULE, Math.floor(MAX_CLIENTS / Math.max(1, limited.length)))
    const ids = new Set(limited.map(({ id }) => id))
    for (const id of this.#counts.keys()) if (!ids.has(id)) this.#counts.delete(id)
    for (const { id, rate } of limited) {
      if (rate === undefined) continue
      const partMs = (rate.window_secs * 1000) / PARTS
      const known = this.#counts.get(id)
      if (known?.count === rate.count && known.partMs === partMs) continue
      this.#counts.set(id, { count: rate.count, partMs, windows: new ClientWindows({ counted: PARTS + 1, maxClients }) })
    }
  }
}
