import { formatHttpDate } from '@svc/http'
import type { FixedExpires } from '../spec/spec.ts'

/** The fields that say how long an answer is fresh. */
interface ExpiresFields {
  readonly expires: string
  readonly cacheControl: string
  /** True if they change every second. */
  readonly isFleeting: boolean
}

const DAY_SECONDS = 86_400

/**
 * The fields of `expires`; undefined for `off`.
 * @param lastModifiedMs undefined: the answer has no such time
 */
export function expiresFields(rule: FixedExpires, lastModifiedMs: number | undefined, nowMs: number): ExpiresFields | undefined {
  switch (rule.kind) {
    case 'off':
      return undefined
    case 'epoch':
      return { expires: 'Thu, 01 Jan 1970 00:00:01 GMT', cacheControl: 'no-cache', isFleeting: false }
    case 'max':
      return { expires: 'Thu, 31 Dec 2037 23:55:55 GMT', cacheControl: 'max-age=315360000', isFleeting: false }
    case 'after': {
      // None at all is now, whatever it is counted from.
      const from = rule.isFromModified && rule.seconds !== 0 && lastModifiedMs !== undefined ? lastModifiedMs : nowMs
      return fieldsOf(Math.floor(from / 1000) + rule.seconds, nowMs, rule.seconds < 0)
    }
    case 'daily':
      return fieldsOf(nextTimeOfDay(rule.seconds, nowMs), nowMs, false)
  }
}

function fieldsOf(atSeconds: number, nowMs: number, isPast: boolean): ExpiresFields {
  const left = atSeconds - Math.floor(nowMs / 1000)
  const cacheControl = isPast || left < 0 ? 'no-cache' : `max-age=${left}`
  return { expires: formatHttpDate(atSeconds * 1000), cacheControl, isFleeting: true }
}

/** In the time zone of the machine. */
function nextTimeOfDay(seconds: number, nowMs: number): number {
  const midnight = new Date(nowMs)
  midnight.setHours(0, 0, 0, 0)
  const at = Math.floor(midnight.getTime() / 1000) + seconds
  return at > Math.floor(nowMs / 1000) ? at : at + DAY_SECONDS
}
