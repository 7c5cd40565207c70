import { FairRing } from '@svc/core'
import type { NumberedWafEvent, WafEvent, WafEventPage, WafEventQuery } from '@svc/protocol'

const MAX_EVENTS = 1_000

/** The last requests that rules of the firewall matched. A site with many of them pushes out its own, not those of others. */
export class WafEvents {
  readonly #ring = new FairRing<NumberedWafEvent>({ maxItems: MAX_EVENTS, maxWeight: MAX_EVENTS })
  #last = 0

  add(events: readonly WafEvent[]): void {
    for (const event of events) this.#ring.add(event.site, { number: ++this.#last, event }, 1)
  }

  /** The newest first. */
  page({ sites, rule, action, limit, before = Number.POSITIVE_INFINITY }: WafEventQuery): WafEventPage {
    const isWanted = ({ number, event }: NumberedWafEvent) =>
      number < before && (rule === undefined || event.rule === rule) && (action === undefined || event.action === action)
    const found = [...this.#ring.of(sites)].filter(isWanted).sort((a, b) => b.number - a.number)
    const shown = found.slice(0, limit)
    return { events: shown.map(({ event }) => event), cursor: found.length > limit ? (shown.at(-1)?.number ?? null) : null }
  }
}
