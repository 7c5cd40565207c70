import { createHash } from 'node:crypto'
import { hashPassword, LoginThrottle, type User, verifyPassword } from '@svc/auth'
import type { Config } from '@svc/config'
import type { Clock } from '@svc/core'
import type { LoginRequest } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

export type ConfiguredUser = Config['admin']['users'][number]

/** Dependencies of `Logins`. */
interface LoginsOptions {
  /** Users of the configuration in service. */
  readonly users: () => readonly ConfiguredUser[]
  /** Networks of earlier logins by username. */
  readonly networks: Readonly<Record<string, readonly string[]>>
  readonly clock: Clock
  readonly logger: Logger
}

/** The user that a password proves, as configured when the login began, or why there is none. */
type LoginOutcome =
  | { readonly kind: 'proved'; readonly user: ConfiguredUser }
  | { readonly kind: 'credentials' }
  | { readonly kind: 'throttled'; readonly retryAfterSecs: number }

/** Verifications that wait, of users from known networks and of all others. */
const MAX_WAITING = 64

/**
 * Runs one verification at a time: each takes tens of megabytes and of milliseconds. Users from networks that they have logged in from go
 * first, so that a flood of others does not keep them out.
 */
class VerificationLine {
  readonly #known: (() => void)[] = []
  readonly #others: (() => void)[] = []
  #isBusy = false

  isFull(isKnown: boolean): boolean {
    return this.#laneOf(isKnown).length >= MAX_WAITING
  }

  async run<T>(isKnown: boolean, task: () => Promise<T>): Promise<T> {
    if (this.#isBusy) await new Promise<void>((resolve) => this.#laneOf(isKnown).push(resolve))
    this.#isBusy = true
    try {
      return await task()
    } finally {
      const next = this.#known.shift() ?? this.#others.shift()
      // The one that leaves passes its place on.
      if (next === undefined) this.#isBusy = false
      else next()
    }
  }

  #laneOf(isKnown: boolean): (() => void)[] {
    return isKnown ? this.#known : this.#others
  }
}

/** The user as others see it. */
export function publicUser({ username, role, tenant_id: tenantId }: ConfiguredUser): User {
  return { username, role, ...(tenantId === undefined ? {} : { tenantId }) }
}

/** Checks passwords: throttled, one at a time, and at the same cost for names that no user has. */
export class Logins {
  readonly #options: LoginsOptions
  readonly #throttle: LoginThrottle
  readonly #line = new VerificationLine()

  constructor(options: LoginsOptions) {
    this.#options = options
    this.#throttle = new LoginThrottle(options.networks)
  }

  /** Networks of logins by username, to be kept over a restart. */
  get networks(): Readonly<Record<string, readonly string[]>> {
    return this.#throttle.known
  }

  /** Finds the user of a name and password. */
  async prove({ username, password, address }: Omit<LoginRequest, 'userAgent'>): Promise<LoginOutcome> {
    const { users, clock, logger } = this.#options
    const user = users().find((one) => one.username === username)
    const attempt = { username, address, isConfigured: user !== undefined }
    const isKnown = this.#throttle.isKnown(attempt)
    if (this.#line.isFull(isKnown)) return { kind: 'throttled', retryAfterSecs: 1 }
    const verdict = this.#throttle.begin(attempt, clock.monotonic())
    if (verdict.kind === 'throttled') return verdict
    if (verdict.afterMs > 0) await new Promise<void>((resolve) => clock.after(verdict.afterMs, resolve))
    const result = await this.#line.run(isKnown, () => this.#verify(user ?? this.#standIn(username), password))
    if (user !== undefined && result === 'unreadable') {
      logger.error({ username }, 'the password_hash of a user cannot be read: make one with "svc config credentials hash"')
    }
    if (user === undefined || result !== 'right') {
      logger.info({ username, address }, 'login refused')
      return { kind: 'credentials' }
    }
    this.#throttle.succeeded(attempt)
    this.#throttle.retain((name) => users().some((one) => one.username === name))
    logger.info({ username, address }, 'login')
    return { kind: 'proved', user }
  }

  /** Without any user it costs the same: strangers do not learn that there is none. */
  async #verify(user: ConfiguredUser | undefined, password: string): ReturnType<typeof verifyPassword> {
    if (user !== undefined) return verifyPassword(user.password_hash, password)
    await hashPassword(password)
    return 'wrong'
  }

  /** The user whose hash an unknown name is checked against: always the same for a name, as if it had that user's cost of hashing. */
  #standIn(username: string): ConfiguredUser | undefined {
    const users = this.#options.users()
    return users[createHash('sha256').update(username).digest().readUInt32BE() % users.length]
  }
}
