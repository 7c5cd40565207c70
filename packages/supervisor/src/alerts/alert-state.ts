/** State of an alert: `pending` while its condition has not held for long enough. */
export interface AlertStatus {
  readonly state: 'ok' | 'pending' | 'firing'
  /** Beginning of the state, in milliseconds of a monotonic clock. */
  readonly since: number
  /** The same in milliseconds since the epoch. */
  readonly at: number
}

/** A moment in both times of a clock. */
export interface Moment {
  readonly now: number
  readonly monotonic: number
}

/** An alert is logged as resolved once it has been ok for so long, so that one that comes and goes does not fill the log. */
const QUIET_MS = 300_000

/** Returns the status after a look at the condition. */
export function nextStatus(status: AlertStatus, isTrue: boolean, forMs: number, moment: Moment): AlertStatus {
  const { now: at, monotonic } = moment
  if (!isTrue) return status.state === 'ok' ? status : { state: 'ok', since: monotonic, at }
  if (status.state === 'firing') return status
  const pending = status.state === 'pending' ? status : ({ state: 'pending', since: monotonic, at } as const)
  return monotonic - pending.since >= forMs ? { state: 'firing', since: monotonic, at } : pending
}

/**
 * Returns the news for the log, if there is any.
 * @param isAnnounced true if the log says that the alert fires
 */
export function newsOf(isAnnounced: boolean, status: AlertStatus, monotonic: number): 'fired' | 'resolved' | undefined {
  if (!isAnnounced) return status.state === 'firing' ? 'fired' : undefined
  return status.state === 'ok' && monotonic - status.since >= QUIET_MS ? 'resolved' : undefined
}
