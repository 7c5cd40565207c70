import { asError, type BackoffPolicy, codeOf, delayMs, Gate, messageOf, noFailures, recordFailure, SingleFlight } from '@svc/core'
import type { SiteSurvey } from '@svc/protocol'
import { problemText, type SiteManifest } from '@svc/site'
import type { LossReason } from '../contract/thread-messages.ts'
import { reasonOf, type SiteScan, type SiteScanner } from './site-scanner.ts'

/** Options of the scans of one site. */
export interface ScannedSiteOptions {
  readonly root: string
  readonly publicDir: string
  readonly scanner: Pick<SiteScanner, 'scan'>
  /** A scan had to be ended, or crashed. */
  readonly onFailed: (reason: LossReason, error: Error) => void
}

/** A directory whose scans fail is not scanned again at each request. */
const BACKOFF: BackoffPolicy = { firstMs: 1_000, maxMs: 60_000, resetAfterMs: 300_000 }

/** The directory of one site as its last scan found it. One scan of it runs at a time. */
export class ScannedSite {
  readonly #options: ScannedSiteOptions
  readonly #turns = new Gate(1)
  readonly #flights = new SingleFlight<'current', SiteManifest>()
  #known: SiteManifest | undefined
  #failures = noFailures
  #failure: Error | undefined

  constructor(options: ScannedSiteOptions) {
    this.#options = options
  }

  /** The manifest of the last scan; undefined: there was none, or it failed. */
  get known(): SiteManifest | undefined {
    return this.#known
  }

  /**
   * Returns the manifest of the last scan, or scans when there is none.
   * @throws RENDER_SCAN, also without another scan when the last one failed a short while ago; RENDER_DRAINING
   */
  async current(): Promise<SiteManifest> {
    const scan = () => this.#turns.run(async () => this.#known ?? (await this.#scan([])).manifest)
    return this.#known ?? (await this.#flights.run('current', scan))
  }

  /** Sums up the scan for listings and the log. A scan that failed is a problem of its site like any other. */
  async survey(): Promise<SiteSurvey> {
    try {
      const { routes, problems } = await this.current()
      return {
        routes: routes.map(({ pattern, kind, file, cache }) => ({ pattern, kind, file, ...(cache && { cache }) })),
        problems: problems.map((problem) => ({ severity: problem.severity, text: problemText(problem) })),
        hasStaticParams: routes.some((route) => route.hasStaticParams),
      }
    } catch (error) {
      if (codeOf(error) !== 'RENDER_SCAN') throw error
      const text = `${messageOf(error)}; nothing of the site is served until a scan of it succeeds`
      return { routes: [], problems: [{ severity: 'error', text }], hasStaticParams: false }
    }
  }

  /** Scans again. `files`: of which it is told whether they are there. Throws as `current` does; nothing is known then. */
  again(files: readonly string[]): Promise<SiteScan> {
    return this.#turns.run(() => {
      this.#known = undefined
      return this.#scan(files)
    })
  }

  async #scan(files: readonly string[]): Promise<SiteScan> {
    const { root, publicDir, scanner, onFailed } = this.#options
    const isTooSoon = performance.now() < this.#failures.lastFailureAt + delayMs(this.#failures, BACKOFF)
    if (this.#failure !== undefined && isTooSoon) throw this.#failure
    try {
      const found = await scanner.scan({ root, publicDir, files: [...files] })
      this.#known = found.manifest
      this.#failure = undefined
      return found
    } catch (thrown) {
      const error = asError(thrown)
      if (codeOf(error) === 'RENDER_SCAN') {
        this.#failure = error
        this.#failures = recordFailure(this.#failures, BACKOFF, performance.now())
        onFailed(reasonOf(error), error)
      }
      throw error
    }
  }
}
