import { type Clock, SingleFlight } from '@svc/core'

/** Reports that are kept. Each has some ten kilobytes. */
const MAX_KEPT = 32

/** Makes each report once for all who ask for it at the same time, or soon after. */
export class RecentReports<Report> {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #making = new SingleFlight<string, Report>()
  readonly #kept = new Map<string, { readonly report: Report; readonly until: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** @param keepMs how long the report may be used again; 0: only while it is being made */
  get(key: string, keepMs: number, make: () => Promise<Report>): Promise<Report> {
    const known = this.#kept.get(key)
    if (known !== undefined && known.until > this.#clock.monotonic()) return Promise.resolve(known.report)
    return this.#making.run(key, async () => {
      const report = await make()
      if (keepMs > 0) this.#keep(key, report, keepMs)
      return report
    })
  }

  #keep(key: string, report: Report, keepMs: number): void {
    this.#kept.delete(key)
    this.#kept.set(key, { report, until: this.#clock.monotonic() + keepMs })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest)
  }
}
