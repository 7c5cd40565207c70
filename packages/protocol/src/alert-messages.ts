import { type Guarded, guard } from '@svc/core'

/** The alert that a silence is about. */
const silencedAlert = {
  name: guard.string,
  site: guard.nullable(guard.string),
  subject: guard.string,
}

/** An alert that is not announced until a time. Times are RFC 3339 in UTC. */
export const silence = guard.object({
  id: guard.string,
  ...silencedAlert,
  until: guard.string,
  reason: guard.string,
  username: guard.string,
  /** When it was made. */
  at: guard.string,
})
export type Silence = Guarded<typeof silence>
export type SilencedAlert = Pick<Silence, 'name' | 'site' | 'subject'>

/** Silences an alert. */
export const silenceOrder = guard.object({
  ...silencedAlert,
  until: guard.string,
  reason: guard.string,
  username: guard.string,
})
export type SilenceOrder = Guarded<typeof silenceOrder>

/** An alert, built in or of the configuration. */
const alert = guard.object({
  name: guard.string,
  source: guard.oneOf('built_in', 'configured'),
  state: guard.oneOf('ok', 'pending', 'firing'),
  /** Beginning of the state, RFC 3339 in UTC. */
  since: guard.string,
  /** Null: it has none at the moment. */
  value: guard.nullable(guard.number),
  /** Of the value; "": none. */
  unit: guard.string,
  /** Id of the site that it is about. */
  site: guard.nullable(guard.string),
  /** The thing that it is about, if it can be about several: a certificate, a disk, an objective. */
  subject: guard.string,
  hint: guard.string,
  /** Null: it is announced. */
  silence: guard.nullable(guard.object({ id: guard.string, until: guard.string, reason: guard.string, username: guard.string })),
})

/** The alerts of the instance. */
export const alertReport = guard.object({
  /** RFC 3339 in UTC; null: the server has just started. */
  evaluated_at: guard.nullable(guard.string),
  alerts: guard.arrayOf(alert),
})
export type AlertReport = Guarded<typeof alertReport>

/** A burn rate of 1 uses up the error budget exactly by the end of its window. */
const burnRate = guard.object({
  /** `5m`, `1h`, `3d`. */
  long_window: guard.string,
  long_rate: guard.number,
  short_window: guard.string,
  short_rate: guard.number,
  /** Both rates above it burn the budget too fast. */
  threshold: guard.number,
  is_burning: guard.boolean,
})

/** A service level objective and its state. */
const sloStatus = guard.object({
  name: guard.string,
  /** Id of its site; null: it counts all requests. */
  site: guard.nullable(guard.string),
  kind: guard.oneOf('availability', 'latency'),
  objective: guard.number,
  threshold_ms: guard.nullable(guard.number),
  window_days: guard.number,
  /** Requests of the window; null: they have not been counted yet. */
  total: guard.nullable(guard.number),
  good: guard.nullable(guard.number),
  /** Share of good requests; null: there was none. */
  ratio: guard.nullable(guard.number),
  /** Share of the error budget of the window: 1 is all of it, below 0 it is overdrawn. */
  budget_left: guard.nullable(guard.number),
  /** The first minute that is counted, RFC 3339 in UTC; null: none was yet. */
  counted_since: guard.nullable(guard.string),
  /** Windows that have not been counted yet are left out. */
  burn_rates: guard.arrayOf(burnRate),
})
export type SloStatus = Guarded<typeof sloStatus>

/** The objectives of the configuration. */
export const sloReport = guard.object({ slos: guard.arrayOf(sloStatus) })
export type SloReport = Guarded<typeof sloReport>
