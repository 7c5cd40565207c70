import { asError, type Clock, messageOf } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import type { AcmeFailure, AcmeStore } from './acme-store.ts'
import { refusalOf } from './order-certificate.ts'
import { concernsAll, isPlausibleRetry, retryDelayMs } from './renewal.ts'

/** Stands for all hosts of an account: no host is called so. */
const ALL_HOSTS = '*'

/** How the last tries went, by host and for the account as a whole, and when there may be another. Outlives restarts. */
export class OrderFailures {
  readonly #store: AcmeStore
  readonly #clock: Clock
  readonly #logger: Logger
  #authority = ''
  #failures: Readonly<Record<string, AcmeFailure>> = {}
  /** Whether the disk knows less than this process. */
  #isUnsaved = false

  constructor(store: AcmeStore, clock: Clock, logger: Logger) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  /** Reads what there is of an authority. From now on this is about it. */
  async load(authority: string): Promise<void> {
    if (this.#isUnsaved && authority === this.#authority) return
    this.#failures = await this.#store.failures(authority)
    this.#authority = authority
    this.#isUnsaved = false
  }

  /** When an order for a host may be made, in milliseconds since the epoch; 0: at any time. */
  retryAt(host: string): number {
    const now = this.#clock.now()
    const times = [host, ALL_HOSTS].map((name) => this.#failures[name]?.retryAt ?? 0)
    return Math.max(...times.map((at) => (isPlausibleRetry(at, now) ? at : 0)))
  }

  /** Why a host has no certificate; undefined: nothing is known against it. */
  reason(host: string): string | undefined {
    return (this.#failures[host] ?? this.#failures[ALL_HOSTS])?.reason
  }

  /**
   * On disk an order counts as failed until it is over: who is killed in the middle of it again and again must not order again and again. Where
   * that cannot be written, a certificate could not be either.
   */
  async noteAttempt(host: string): Promise<void> {
    const reason = 'the server ended while a certificate was being ordered'
    await this.#store.saveFailures(this.#authority, { ...this.#failures, [host]: this.#next(host, reason) })
  }

  /** An order has failed. Never rejects. */
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

  /** An order has been fulfilled. Never rejects. */
  async fulfilled(host: string): Promise<void> {
    const { [host]: _over, [ALL_HOSTS]: _served, ...others } = this.#failures
    this.#failures = others
    await this.#save()
  }

  /** An order was given up, and counts no more. Never rejects. */
  async givenUp(): Promise<void> {
    await this.#save()
  }

  #next(name: string, reason: string, isRateLimited = false, retryAfterMs = 0): AcmeFailure {
    const failures = (this.#failures[name]?.failures ?? 0) + 1
    return { failures, retryAt: this.#clock.now() + retryDelayMs(failures, isRateLimited, retryAfterMs), reason }
  }

  /** What cannot be written is known to this process all the same. */
  async #save(): Promise<void> {
    try {
      await this.#store.saveFailures(this.#authority, this.#failures)
      this.#isUnsaved = false
    } catch (error) {
      this.#isUnsaved = true
      this.#logger.error({ err: asError(error) }, 'failures of automatic certificates could not be written')
    }
  }
}
