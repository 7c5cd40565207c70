import { type Guarded, guard } from '@svc/core'

/** One operation of the control plane, or the attempt. */
export const auditRecord = guard.object({
  /** RFC 3339 in UTC. */
  at: guard.string,
  /** "" where no credentials counted. */
  username: guard.string,
  /** Address of the client; "" for the control socket. */
  address: guard.string,
  /** Method and path of the endpoint as it is declared. */
  action: guard.string,
  /** The subject of the operation: its parameters, without secrets. */
  target: guard.string,
  result: guard.oneOf('ok', 'denied', 'failed'),
  detail: guard.string,
  request_id: guard.string,
})
export type AuditRecord = Guarded<typeof auditRecord>

/** Selects records of the audit log, newest first. */
export const auditQuery = guard.object({
  limit: guard.number,
  /** The cursor of the page before. */
  before: guard.optional(guard.number),
  username: guard.optional(guard.string),
  /** A part of the operation or of its target; lower case. */
  text: guard.optional(guard.string),
  result: guard.optional(guard.oneOf('ok', 'denied', 'failed')),
  /** Milliseconds since the epoch; older records are left out. */
  sinceMs: guard.optional(guard.number),
})
export type AuditQuery = Guarded<typeof auditQuery>

/** A page of the audit log, newest first: a bounded number of records is read, so a page may have fewer than `limit`, and yet a cursor. */
export const auditPage = guard.object({
  entries: guard.arrayOf(auditRecord),
  /** Where the next page begins; null: there are no older records. */
  cursor: guard.nullable(guard.number),
})
export type AuditPage = Guarded<typeof auditPage>
