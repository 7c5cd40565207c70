import { type Clock, systemClock } from '@svc/core'
import { TrafficWriter } from '@svc/telemetry'
import { SiteCounter } from './site-counter.ts'

/** Reports begin at multiples of this on the wall clock, so that each belongs to one minute. */
const REPORT_MS = 5_000
/** A message takes no further site from this size on. */
const MESSAGE_BYTES = 256 * 1024
/** Names of each list that are reported. */
const REPORTED_NAMES = 20
/** Counters that are kept for sites without requests. */
const MAX_IDLE = 1_000

/** The traffic of sites between two reports. */
interface TrafficReport {
  /** When it began, in milliseconds since the epoch. */
  readonly at: number
  readonly bytes: Uint8Array
}

/** Counts the requests of each site, and reports them. It sends one message at a time, and goes on counting meanwhile. */
export class WorkerTraffic {
  readonly #clock: Clock
  readonly #counters = new Map<string, SiteCounter>()
  /** Requests that belong to no site are not reported. */
  readonly #ofNoSite = new SiteCounter('', () => undefined)
  readonly #writer = new TrafficWriter(REPORTED_NAMES)
  /** Counters with requests. */
  #active: SiteCounter[] = []
  #send: (report: TrafficReport) => Promise<unknown> = async () => undefined
  #report: Promise<void> | undefined
  #since: number

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
    this.#since = clock.now()
  }

  /** The counter of a site by its id. It may be kept, and counts as long as it is used. */
  of(site: string): SiteCounter {
    if (site === '') return this.#ofNoSite
    const known = this.#counters.get(site)
    if (known !== undefined) return known
    const counter = new SiteCounter(site, (active) => this.#active.push(active))
    this.#counters.set(site, counter)
    return counter
  }

  /** Begins to report. The counts of a report that `send` rejects are lost. */
  connect(send: (report: TrafficReport) => Promise<unknown>): void {
    this.#send = send
    this.#schedule()
  }

  /** Reports the traffic counted so far. */
  async flush(): Promise<void> {
    await this.#report
    await this.#sendAll()
  }

  #schedule(): void {
    const now = this.#clock.now()
    this.#clock.after(REPORT_MS - (now % REPORT_MS), () => {
      this.#schedule()
      this.#report ??= this.#sendAll().finally(() => {
        this.#report = undefined
      })
    })
  }

  async #sendAll(): Promise<void> {
    const at = this.#since
    this.#since = this.#clock.now()
    const counters = this.#active
    this.#active = []
    while (counters.length > 0) {
      // The master is gone, or too busy: sending it again could count it twice.
      await this.#send({ at, bytes: this.#pack(counters) }).catch(() => undefined)
    }
    this.#forgetIdle()
  }

  /** Takes the traffic of counters, as many as one message has room for. */
  #pack(counters: SiteCounter[]): Uint8Array {
    while (this.#writer.length < MESSAGE_BYTES) {
      const counter = counters.pop()
      if (counter === undefined) break
      this.#writer.add(counter)
      counter.clear()
    }
    return this.#writer.take()
  }

  #forgetIdle(): void {
    if (this.#counters.size <= MAX_IDLE) return
    for (const [site, { totals }] of this.#counters) if (totals.requests === 0) this.#counters.delete(site)
  }
}
