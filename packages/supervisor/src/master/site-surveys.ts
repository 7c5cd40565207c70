import { asError, codeOf } from '@svc/core'
import type { SiteSurvey } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** Dependencies of the surveys. */
interface SiteSurveysOptions {
  /** Asks a render host what is in the directory of a site. */
  readonly ask: (site: string) => Promise<SiteSurvey>
  /** Has one worker render what is known in advance of a site. */
  readonly warm: (site: string) => void
  readonly logger: Logger
}

/** Sites that are looked at together in the background. */
const AT_ONCE = 2
/** Problems of one site that a survey puts into the log; `svc routes` lists all. */
const MAX_LOGGED = 50
/** New problems of one site that get into the log within a minute: its files may change without end. */
const MAX_PER_MINUTE = 200
const MINUTE_MS = 60_000

/** Which problems of a site are in the log. */
interface Reported {
  texts: ReadonlySet<string>
  lines: number
  minuteBeganAt: number
}

/** Looks at the directories of sites through their render hosts, and puts each problem into the log once. */
export class SiteSurveys {
  readonly #options: SiteSurveysOptions
  readonly #due = new Set<string>()
  readonly #reported = new Map<string, Reported>()
  #running = 0

  constructor(options: SiteSurveysOptions) {
    this.#options = options
  }

  /** Puts a site in line, to be looked at in the background. */
  add(site: string): void {
    this.#due.add(site)
    if (this.#running >= AT_ONCE) return
    this.#running++
    void this.#work()
  }

  /** How many problems the last survey of a site found. */
  problemCount(site: string): number {
    return this.#reported.get(site)?.texts.size ?? 0
  }

  /** Looks at a site now. Rejects with what asking for it does. */
  async survey(site: string): Promise<SiteSurvey> {
    const survey = await this.#options.ask(site)
    this.#report(site, survey)
    return survey
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    for (const site of this.#due) {
      this.#due.delete(site)
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
    if (codeOf(error) === 'RENDER_UNKNOWN_SITE') this.#reported.delete(site)
    else
      this.#options.logger.warn(
        { site, err: error },
        'the directory of a site was not looked at; its next change or request does',
      )
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
