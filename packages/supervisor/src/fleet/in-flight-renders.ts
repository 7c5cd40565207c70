import type { Clock } from '@svc/core'

/** Workers report the renders in flight on a dead host when they notice its death: a moment before or after the master does. */
const REPORT_MS = 300

/** The sites that had renders in flight on each host, as evidence when a host dies. */
export class InFlightRenders {
  readonly #clock: Clock
  readonly #sites = new Map<string, Set<string>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Accepts reports for a host from now on. */
  open(hostId: string): void {
    this.#sites.set(hostId, new Set())
  }

  /** Adds sites to the report of a host. Ignored for a host that is not open. */
  note(hostId: string, sites: readonly string[]): void {
    for (const site of sites) this.#sites.get(hostId)?.add(site)
  }

  /** Calls back with the sorted sites, `known` included, once the reports on a dead host have had time to arrive. */
  whenReported(hostId: string, known: readonly string[], onReport: (sites: readonly string[]) => void): void {
    this.#clock.after(REPORT_MS, () => onReport([...new Set([...(this.#sites.get(hostId) ?? []), ...known])].sort()))
  }

  /** Forgets a host that has ended, once late reports have arrived. */
  close(hostId: string): void {
    this.#clock.after(2 * REPORT_MS, () => this.#sites.delete(hostId))
  }
}
