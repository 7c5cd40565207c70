import { createHash } from 'node:crypto'
import { hashPassword, LoginThrottle, type User, verifyPassword } from '@svc/auth'
import type { Config } from '@svc/config'
import type { Clock } from '@svc/core'
import type { LoginRequest } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { StrangerLines, VerificationLine } from './login-lines.ts'

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

const noTurn: LoginOutcome = { kind: 'throttled', retryAfterSecs: 1 }

/** The user as others see it. */
export function publicUser({ username, role, tenant_id: tenantId }: ConfiguredUser): User {
  return { username, role, ...(tenantId === undefined ? {} : { tenantId }) }
}

/** Checks passwords: throttled, one at a time, and at the same cost for names that no user has. */
export class Logins {
  readonly #options: LoginsOptions
  readonly #throttle: LoginThrottle
  readonly #line = new VerificationLine()
  readonly #strangers: StrangerLines
  /** Names that no user has wait like others, in places of their own. */
  readonly #strangersOfNoUser: StrangerLines

  constructor(options: LoginsOptions) {
    this.#options = options
    this.#throttle = new LoginThrottle(options.networks)
    this.#strangers = new StrangerLines(options.clock)
    this.#strangersOfNoUser = new StrangerLines(options.clock)
  }

  /** Networks of logins by username; they outlive a restart. */
  get networks(): Readonly<Record<string, readonly string[]>> {
    return this.#throttle.known
  }

  /** Finds the user of a name and password. */
  async prove({ username, password, address }: Omit<LoginRequest, 'userAgent'>): Promise<LoginOutcome> {
    const { users, clock, logger } = this.#options
    const user = users().find((one) => one.username === username)
    const attempt = { username, address, isConfigured: user !== undefined }
    const verdict = this.#throttle.begin(attempt, clock.monotonic())
    if (verdict.kind === 'throttled') return verdict
    const strangers = user === undefined ? this.#strangersOfNoUser : this.#strangers
    const hasTurn = !verdict.isQueued || (await strangers.turn(username, verdict))
    const verify = () => this.#verify(user ?? this.#standIn(username), password)
    const result = hasTurn ? await this.#line.run(verdict, verify) : undefined
    if (result === undefined) {
      this.#throttle.withdrawn(attempt)
      return noTurn
    }
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
