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

/** A page of the audit log, newest first. */
export const auditPage = guard.object({
  entries: guard.arrayOf(auditRecord),
  /** Where the next page begins; null: there are no older records. */
  cursor: guard.nullable(guard.number),
})
export type AuditPage = Guarded<typeof auditPage>
