import { asError, codeOf } from '@svc/core'
import type { SiteSurvey } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** Dependencies of the surveys. */
interface SiteSurveysOptions {
  /** Queries a render host for the content of a site's directory. */
  readonly ask: (site: string) => Promise<SiteSurvey>
  /** True if the site renders in a unit that does not serve now. It is surveyed again when the unit serves. */
  readonly isAway: (site: string) => boolean
  /** Has one worker render the pages of a site that are known in advance. */
  readonly warm: (site: string) => void
  readonly logger: Logger
}

/** Sites that are surveyed at a time in the background. */
const AT_ONCE = 2
/** Most problems of one site that a survey logs; `svc routes` lists all. */
const MAX_LOGGED = 50
/** Most new problems of one site logged in a minute: its files may change without end. */
const MAX_PER_MINUTE = 200
const MINUTE_MS = 60_000

/** Logged problems of a site. */
interface Reported {
  texts: ReadonlySet<string>
  lines: number
  minuteBeganAt: number
}

/** Surveys the directories of sites through their render hosts and logs each problem once. */
export class SiteSurveys {
  readonly #options: SiteSurveysOptions
  readonly #due = new Set<string>()
  readonly #reported = new Map<string, Reported>()
  #running = 0

  constructor(options: SiteSurveysOptions) {
    this.#options = options
  }

  /** Queues a site for a survey in the background. */
  add(site: string): void {
    this.#due.add(site)
    if (this.#running >= AT_ONCE) return
    this.#running++
    void this.#work()
  }

  /** Number of problems that the last survey of a site found. */
  problemCount(site: string): number {
    return this.#reported.get(site)?.texts.size ?? 0
  }

  /** Surveys a site now. Rejects with the error of the query. */
  async survey(site: string): Promise<SiteSurvey> {
    const survey = await this.#options.ask(site)
    this.#report(site, survey)
    return survey
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    for (const site of this.#due) {
      this.#due.delete(site)
      if (this.#options.isAway(site)) continue
      try {
        const { hasStaticParams } = await this.survey(site)
        if (hasStaticParams) this.#options.warm(site)
      } catch (error) {
        this.#failed(site, asError(error))
      }
    }
    this.#running--
  }

  #failed(site: string, error: Error): void {
    const { isAway, logger } = this.#options
    const code = codeOf(error) ?? ''
    if (code === 'RENDER_UNKNOWN_SITE') this.#reported.delete(site)
    else if (!['SUP_NOT_READY', 'CORE_PEER_GONE'].includes(code) || !isAway(site)) {
      logger.warn({ site, err: error }, 'failed to survey the directory of a site; its next change or request retries')
    }
  }

  /** A problem that went away is logged again when it comes back. */
  #report(site: string, { problems }: SiteSurvey): void {
    const { logger } = this.#options
    const now = performance.now()
    const known = this.#reported.get(site) ?? { texts: new Set(), lines: 0, minuteBeganAt: now }
    if (now - known.minuteBeganAt > MINUTE_MS) Object.assign(known, { lines: 0, minuteBeganAt: now })
    const fresh = problems.filter(({ text }) => !known.texts.has(text))
    const room = Math.max(0, Math.min(MAX_LOGGED, MAX_PER_MINUTE - known.lines))
    for (const { severity, text } of fresh.slice(0, room)) logger[severity === 'error' ? 'error' : 'warn']({ site }, text)
    const left = fresh.length - room
    if (left > 0 && known.lines < MAX_PER_MINUTE) {
      logger.warn({ site }, `${left} more problems of the site are not logged: "svc routes ${site}" lists them`)
    }
    known.lines += Math.min(fresh.length, room)
    known.texts = new Set(problems.map(({ text }) => text))
    this.#reported.set(site, known)
  }
}
