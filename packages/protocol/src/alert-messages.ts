import { type Guarded, guard } from '@svc/core'

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
})

/** The alerts of the instance. */
export const alertReport = guard.object({
  /** RFC 3339 in UTC; null: the server has just started. */
  evaluated_at: guard.nullable(guard.string),
  alerts: guard.arrayOf(alert),
})
export type AlertReport = Guarded<typeof alertReport>
