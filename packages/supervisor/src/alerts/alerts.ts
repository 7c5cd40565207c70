import { asError, type Clock } from '@svc/core'
import type { AlertReport, Silence } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { type AlertStatus, type Moment, newsOf, nextStatus } from './alert-state.ts'
import type { Reading, Rule } from './rule.ts'
import type { Silences } from './silences.ts'

/** Pause between two evaluations. */
const EVERY_MS = 15_000

type Alert = AlertReport['alerts'][number]

/** An alert, and its last reading. */
interface Tracked {
  status: AlertStatus
  reading: Reading
  rule: Rule
  isAnnounced: boolean
}

/** Options of `Alerts`. */
interface AlertsOptions {
  /** Judges all conditions. May be slow: the next evaluation waits for it. */
  readonly judge: () => Promise<readonly Rule[]>
  readonly silences: Pick<Silences, 'of'>
  readonly clock: Clock
  readonly logger: Logger
}

/** The condition is a part of it: an alert whose condition a reload changes starts over. */
function nameOf({ source, name, condition }: Rule): string {
  return [source, name, condition].join('\0')
}

function keyOf(rule: Rule, { site = '', subject }: Reading): string {
  return [nameOf(rule), site, subject].join('\0')
}

/** Of a rule that has nothing to watch, or finds nothing to name. */
const nothing: Reading = { subject: '', value: null, isTrue: false }

const order = { firing: 0, pending: 1, ok: 2 } as const

/** The alerts of the instance: evaluates their conditions on a timer, one evaluation after the other, and logs those that fire. */
export class Alerts {
  readonly #options: AlertsOptions
  #tracked = new Map<string, Tracked>()
  #evaluatedAt: number | undefined
  #isClosed = false
  #cancel: () => void = () => undefined

  constructor(options: AlertsOptions) {
    this.#options = options
  }

  /** Evaluates at once, and on a timer from then on. */
  start(): void {
    if (this.#isClosed) return
    const { clock, logger } = this.#options
    this.evaluate()
      .catch((error) => logger.error({ err: asError(error) }, 'failed to evaluate the alerts'))
      .finally(() => {
        if (!this.#isClosed) this.#cancel = clock.after(EVERY_MS, () => this.start())
      })
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  /** Looks at all conditions. */
  async evaluate(): Promise<void> {
    const rules = await this.#options.judge()
    if (this.#isClosed) return
    const { clock } = this.#options
    const moment = { now: clock.now(), monotonic: clock.monotonic() }
    const before = this.#tracked
    this.#tracked = new Map()
    for (const rule of rules) {
      for (const reading of rule.readings ?? []) this.#take(before, rule, reading, moment)
    }
    for (const [key, left] of before) this.#leave(key, left, rules, moment)
    // A rule that names nothing is listed nevertheless.
    const named = new Set(Array.from(this.#tracked.values(), ({ rule }) => nameOf(rule)))
    for (const rule of rules) if (!named.has(nameOf(rule))) this.#take(before, rule, nothing, moment)
    this.#evaluatedAt = moment.now
  }

  /** The alerts, those that fire first. */
  report(): AlertReport {
    const alerts = Array.from(this.#tracked.values(), (tracked) => alertOf(tracked, this.#silenceOf(tracked)))
    alerts.sort((one, other) => order[one.state] - order[other.state] || (one.name < other.name ? -1 : 1))
    return { evaluated_at: this.#evaluatedAt === undefined ? null : rfc3339(this.#evaluatedAt), alerts }
  }

  #take(before: Map<string, Tracked>, rule: Rule, reading: Reading, moment: Moment): void {
    const key = keyOf(rule, reading)
    // Things of one name are one alert, with the first reading.
    if (this.#tracked.has(key)) return
    const known = before.get(key)
    before.delete(key)
    const { monotonic, now: at } = moment
    const status = nextStatus(known?.status ?? { state: 'ok', since: monotonic, at }, reading.isTrue, rule.forMs, moment)
    this.#keep(key, { status, reading, rule, isAnnounced: known?.isAnnounced ?? false }, monotonic)
  }

  /** An alert that its rule no longer names: a rule names only alerts that it has found. It stays until the log says that it has ended. */
  #leave(key: string, left: Tracked, rules: readonly Rule[], moment: Moment): void {
    const rule = rules.find((one) => nameOf(one) === nameOf(left.rule))
    if (rule === undefined) {
      if (left.isAnnounced) this.#options.logger.info(factsOf(left), 'the condition of a firing alert is no longer configured')
    } else if (rule.readings === undefined) {
      this.#keep(key, { ...left, rule }, moment.monotonic)
    } else if (left.isAnnounced) {
      const status = nextStatus(left.status, false, rule.forMs, moment)
      this.#keep(key, { ...left, rule, status, reading: { ...left.reading, value: null, isTrue: false } }, moment.monotonic)
    }
  }

  #keep(key: string, tracked: Tracked, monotonic: number): void {
    const { logger } = this.#options
    const found = newsOf(tracked.isAnnounced, tracked.status, monotonic)
    // The log says it when the silence ends, if it fires still.
    const news = found === 'fired' && this.#silenceOf(tracked) !== undefined ? undefined : found
    if (news === 'fired') logger.warn({ ...factsOf(tracked), hint: tracked.rule.hint }, 'an alert fires')
    if (news === 'resolved') logger.info(factsOf(tracked), 'an alert is resolved')
    this.#tracked.set(key, news === undefined ? tracked : { ...tracked, isAnnounced: news === 'fired' })
  }

  #silenceOf({ rule: { name }, reading: { site, subject } }: Tracked): Silence | undefined {
    return this.#options.silences.of({ name, site: site ?? null, subject })
  }
}

/** Fields of a log line. */
function factsOf({ rule, reading: { site, subject, value } }: Tracked): object {
  return { alert: rule.name, ...(site === undefined ? {} : { site }), ...(subject === '' ? {} : { subject }), value }
}

function rfc3339(at: number): string {
  return new Date(at).toISOString()
}

function alertOf({ status, reading, rule }: Tracked, silence: Silence | undefined): Alert {
  const { name, source, unit, hint } = rule
  const { site = null, subject, value } = reading
  const shown = silence && { id: silence.id, until: silence.until, reason: silence.reason, username: silence.username }
  const facts = { name, source, state: status.state, since: rfc3339(status.at), value, unit, site, subject, hint }
  return { ...facts, silence: shown ?? null }
}
