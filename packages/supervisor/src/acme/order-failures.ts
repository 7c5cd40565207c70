import { asError, type Clock, messageOf } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import type { AcmeFailure, AcmeStore } from './acme-store.ts'
import type { Refusal } from './authority-client.ts'
import { refusalOf } from './order-certificate.ts'

const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 24 * 3_600_000
/** Authorities with weekly limits ask for pauses of days. */
const LONGEST_RETRY_MS = 7 * 24 * 3_600_000
/** Authorities count failures by the hour. */
const RATE_LIMITED_RETRY_MS = 3_600_000

/** Returns the pause after this many failures in a row. `askedMs`: the pause that the authority asks for. */
export function retryDelayMs(failures: number, isRateLimited: boolean, askedMs = 0): number {
  const usual = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20))
  const least = isRateLimited ? RATE_LIMITED_RETRY_MS : 0
  return Math.max(usual, least, Math.min(askedMs, LONGEST_RETRY_MS))
}

/** False if the retry lies further ahead than any pause: a wrong clock has noted it. */
function isPlausibleRetry(retryAt: number, now: number): boolean {
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

/** Stands for all hosts of an account: no host has this name. */
const ALL_HOSTS = '*'

/** Failures of the last tries and the time of the next one, by host and for the account as a whole. Survives restarts. */
export class OrderFailures {
  readonly #store: AcmeStore
  readonly #clock: Clock
  readonly #logger: Logger
  #authority = ''
  #failures: Readonly<Record<string, AcmeFailure>> = {}
  /** True if the file lacks changes of this process. */
  #isUnsaved = false

  constructor(store: AcmeStore, clock: Clock, logger: Logger) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  /** Loads the failures of an authority and switches to it. */
  async load(authority: string): Promise<void> {
    if (this.#isUnsaved && authority === this.#authority) return
    this.#failures = await this.#store.failures(authority)
    this.#authority = authority
    this.#isUnsaved = false
  }

  /** Returns the earliest time of the next order for a host, in milliseconds since the epoch; 0: now. */
  retryAt(host: string): number {
    const now = this.#clock.now()
    const times = [host, ALL_HOSTS].map((name) => this.#failures[name]?.retryAt ?? 0)
    return Math.max(...times.map((at) => (isPlausibleRetry(at, now) ? at : 0)))
  }

  /** Returns the reason why a host has no certificate; undefined: no failure is known. */
  reason(host: string): string | undefined {
    return (this.#failures[host] ?? this.#failures[ALL_HOSTS])?.reason
  }

  /**
   * On disk an order counts as failed until it ends: a server that is killed in the middle of each order must not order in a loop.
   * If this cannot be written, a certificate could not be written either.
   */
  async noteAttempt(host: string): Promise<void> {
    const reason = 'the server ended during an order of a certificate'
    await this.#store.saveFailures(this.#authority, { ...this.#failures, [host]: this.#next(host, reason) })
  }

  /** Notes a failed order. Never rejects. */
  async failed(host: string, error: unknown): Promise<AcmeFailure> {
    const reason = messageOf(error)
    const { refusal, retryAfterMs } = refusalOf(error) ?? { refusal: undefined, retryAfterMs: 0 }
    const isRateLimited = refusal === 'rate_limit' || /rate.?limit|too many/i.test(reason)
    const isForAll = refusal !== undefined && concernsAll(refusal, reason, host)
    const failed = [host, ...(isForAll ? [ALL_HOSTS] : [])]
    const next = failed.map((name) => [name, this.#next(name, reason, isRateLimited, retryAfterMs)] as const)
    this.#failures = { ...this.#failures, ...Object.fromEntries(next) }
    await this.#save()
    return this.#failures[host] ?? this.#next(host, reason)
  }

  /** Notes a fulfilled order. Never rejects. */
  async fulfilled(host: string): Promise<void> {
    const { [host]: _over, [ALL_HOSTS]: _served, ...others } = this.#failures
    this.#failures = others
    await this.#save()
  }

  /** Notes an aborted order, which does not count as failed. Never rejects. */
  async aborted(): Promise<void> {
    await this.#save()
  }

  #next(name: string, reason: string, isRateLimited = false, retryAfterMs = 0): AcmeFailure {
    const failures = (this.#failures[name]?.failures ?? 0) + 1
    return { failures, retryAt: this.#clock.now() + retryDelayMs(failures, isRateLimited, retryAfterMs), reason }
  }

  /** This process keeps in memory what it failed to write. */
  async #save(): Promise<void> {
    try {
      await this.#store.saveFailures(this.#authority, this.#failures)
      this.#isUnsaved = false
    } catch (error) {
      this.#isUnsaved = true
      this.#logger.error({ err: asError(error) }, 'failed to save the failures of automatic certificates')
    }
  }
}
