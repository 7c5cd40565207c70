import { createHash } from 'node:crypto'
import type { LoadedCertificate } from '@svc/config'
import type { Refusal } from './authority-client.ts'

const RENEW_AFTER = 2 / 3
/** Part of the lifetime over which renewals are spread, so that they do not all come at once. */
const SPREAD = 1 / 24
const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 24 * 3_600_000
/** Authorities with weekly limits ask for pauses of days. */
const LONGEST_RETRY_MS = 7 * 24 * 3_600_000
/** Authorities count failures by the hour. */
const RATE_LIMITED_RETRY_MS = 3_600_000

/** Returns the time of renewal, in milliseconds since the epoch: after two thirds of the lifetime, plus a share by the host name. */
export function renewalAt(host: string, { notBefore, notAfter }: Pick<LoadedCertificate, 'notBefore' | 'notAfter'>): number {
  const lifetime = notAfter - notBefore
  const share = createHash('sha256').update(host).digest().readUInt32BE(0) / 2 ** 32
  return notBefore + lifetime * (RENEW_AFTER + SPREAD * share)
}

/** Returns the pause after this many failures in a row. `askedMs`: the pause that the authority asks for. */
export function retryDelayMs(failures: number, isRateLimited: boolean, askedMs = 0): number {
  const usual = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20))
  const least = isRateLimited ? RATE_LIMITED_RETRY_MS : 0
  return Math.max(usual, least, Math.min(askedMs, LONGEST_RETRY_MS))
}

/** False if the retry lies further ahead than any pause: a wrong clock has noted it. */
export function isPlausibleRetry(retryAt: number, now: number): boolean {
  return retryAt - now <= LONGEST_RETRY_MS
}

/**
 * True if a refusal concerns the account or the authority as a whole, so that orders for other hosts would fail too: the authority
 * is busy, or has a rate limit that names no host in particular.
 */
export function concernsAll(refusal: Refusal, reason: string, host: string): boolean {
  if (refusal !== 'rate_limit') return refusal === 'busy'
  const labels = host.split('.')
  const names = labels.slice(0, -1).map((_label, at) => labels.slice(at).join('.'))
  return !names.some((name) => reason.toLowerCase().includes(name))
}
