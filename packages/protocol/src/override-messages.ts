import { type Guarded, guard } from '@svc/core'

/** A value that was set at run time in place of the one in the configuration file. */
export const override = guard.object({
  key: guard.string,
  value: guard.anything,
  /** RFC 3339 in UTC. */
  at: guard.string,
  username: guard.string,
})
export type Override = Guarded<typeof override>

/** Seconds after which clients of a site in maintenance come back, unless the order says otherwise. */
export const MAINTENANCE_RETRY_SECS = 120

/** Maintenance of a site: every request gets 503. */
const maintenance = guard.object({
  /** Plain text of the response; undefined: the usual one. */
  message: guard.optional(guard.string),
  retry_after_secs: guard.number,
})

/** Takes a server of an upstream group out of service, or back into it. */
export const serverOrder = guard.object({
  upstream: guard.string,
  /** Its address in the group. */
  server: guard.string,
  down: guard.boolean,
  username: guard.string,
})
export type ServerOrder = Guarded<typeof serverOrder>

/** Switches the maintenance of a site. */
export const maintenanceOrder = guard.object({
  site: guard.string,
  /** Null: it serves. */
  maintenance: guard.nullable(maintenance),
  username: guard.string,
})
