import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Clock, FairQueue, type QueueOwner, SingleFlight, setNewest } from '@svc/core'

/** Checks slow passwords, one at a time, off the thread that serves requests. */
export interface SlowChecker {
  /** Rejects when it could not be checked. */
  check(password: Uint8Array, stored: string): Promise<boolean>
}

/**
 * The result of a password check. `busy`: too many checks are waiting. `limited`: its client guessed wrong too often.
 */
export type PasswordVerdict = boolean | 'busy' | 'limited'

/** Source of a password to check. */
export interface Requester extends QueueOwner {
  /** Network address that wrong guesses are counted for; "" where none is known: they are not counted. */
  readonly client: string
}

interface Question {
  readonly asker: Requester
  readonly password: Buffer
  readonly stored: string
  resolve(verdict: PasswordVerdict): void
  reject(error: unknown): void
}

/** Stored passwords in a slow form that can be checked. */
const SLOW_FORMS = /^\$(?:2[abxy]|apr1|1|5|6)\$/
/** Checks that may wait. More at a time are an attack, or a sign that the passwords are too slow for the traffic. */
const MAX_WAITING = 256

/**
 * Compares passwords with their stored forms. A slow form is computed once for each pair: the cache holds a
 * keyed digest of both and the outcome, which never changes. Those that ask take turns, by lane and within it by client.
 */
export class PasswordCheck {
  readonly #thread: SlowChecker
  readonly #key = randomBytes(32)
  readonly #known: KnownOutcomes
  readonly #guesses: GuessLimit
  readonly #queue = new FairQueue<Question>(MAX_WAITING)
  readonly #flight = new SingleFlight<string, PasswordVerdict>()
  #isWorking = false

  constructor(thread: SlowChecker, clock: Clock) {
    this.#thread = thread
    this.#known = new KnownOutcomes(clock)
    this.#guesses = new GuessLimit(clock)
  }

  /** A form that is not known fits nothing. Rejects when it could not be checked. */
  check(password: Buffer, stored: string, asker: Requester): PasswordVerdict | Promise<PasswordVerdict> {
    const quick = quickCheck(password, stored)
    if (quick !== undefined) return quick
    if (!SLOW_FORMS.test(stored)) return false
    const digest = createHmac('sha256', this.#key).update(stored).update('\0').update(password).digest('base64')
    const known = this.#known.find(digest)
    if (known !== undefined) return known
    if (this.#isLimited(asker)) return 'limited'
    return this.#flight.run(digest, async () => {
      const verdict = await this.#wait(password, stored, asker)
      if (typeof verdict === 'boolean') this.#known.remember(digest, verdict)
      return verdict
    })
  }

  #wait(password: Buffer, stored: string, asker: Requester): Promise<PasswordVerdict> {
    return new Promise((resolve, reject) => {
      this.#queue.add({ asker, password, stored, resolve, reject }, asker)?.resolve('busy')
      if (!this.#isWorking) void this.#work()
    })
  }

  async #work(): Promise<void> {
    this.#isWorking = true
    for (let next = this.#queue.next(); next !== undefined; next = this.#queue.next()) {
      await this.#workOut(next)
    }
    this.#isWorking = false
  }

  async #workOut({ asker, password, stored, resolve, reject }: Question): Promise<void> {
    // Its guesses in the meantime may have been wrong too often.
    if (this.#isLimited(asker)) return resolve('limited')
    try {
      const isRight = await this.#thread.check(password, stored)
      if (!isRight && asker.client !== '') this.#guesses.note(asker.client)
      resolve(isRight)
    } catch (error) {
      reject(error)
    }
  }

  #isLimited({ client }: Requester): boolean {
    return client !== '' && this.#guesses.isReached(client)
  }
}

/** Wrong guesses that a client may make one after another. */
const MAX_GUESSES = 20
/** Time after which a client that guessed wrong too often may guess once more. */
export const GUESS_RECOVERY_SECONDS = 3
const RECOVERY_MS = GUESS_RECOVERY_SECONDS * 1_000
/** Clients that are remembered. */
const MAX_CLIENTS = 10_000

/** Wrong guesses by client: a client with many recent ones gets no further check for a while. */
class GuessLimit {
  readonly #clock: Clock
  /** When the last of a client's guesses is forgotten. The client whose guess is the oldest first. */
  readonly #forgottenAt = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True if a client must wait before it guesses again. */
  isReached(client: string): boolean {
    const forgottenAt = this.#forgottenAt.get(client)
    return forgottenAt !== undefined && forgottenAt - this.#clock.monotonic() > (MAX_GUESSES - 1) * RECOVERY_MS
  }

  /** A client guessed wrong. */
  note(client: string): void {
    const now = this.#clock.monotonic()
    const before = Math.max(now, this.#forgottenAt.get(client) ?? 0)
    setNewest(this.#forgottenAt, client, before + RECOVERY_MS, MAX_CLIENTS)
  }
}

interface Known {
  readonly isRight: boolean
  readonly forgottenAt: number
}

/** Time for which an outcome is cached after its last use. */
const LIFETIME_MS = 600_000
/** Outcomes of each kind that are remembered. */
const MAX_KNOWN = 10_000

/** Outcomes of lately, by digest. Right and wrong ones are apart: no number of wrong guesses makes a right one forgotten. */
class KnownOutcomes {
  readonly #clock: Clock
  /** Least recently used first. */
  readonly #right = new Map<string, Known>()
  readonly #wrong = new Map<string, Known>()
  #isTimed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  find(digest: string): boolean | undefined {
    const known = this.#right.get(digest) ?? this.#wrong.get(digest)
    if (known === undefined || known.forgottenAt <= this.#clock.monotonic()) return undefined
    this.remember(digest, known.isRight)
    return known.isRight
  }

  remember(digest: string, isRight: boolean): void {
    const table = isRight ? this.#right : this.#wrong
    setNewest(table, digest, { isRight, forgottenAt: this.#clock.monotonic() + LIFETIME_MS }, MAX_KNOWN)
    this.#forgetLater()
  }

  /** Unused outcomes expire too. */
  #forgetLater(): void {
    if (this.#isTimed || this.#right.size + this.#wrong.size === 0) return
    this.#isTimed = true
    this.#clock.after(LIFETIME_MS, () => {
      this.#isTimed = false
      const now = this.#clock.monotonic()
      for (const table of [this.#right, this.#wrong]) {
        for (const [digest, { forgottenAt }] of table) if (forgottenAt <= now) table.delete(digest)
      }
      this.#forgetLater()
    })
  }
}

const SHA1_BYTES = 20

/**
 * Checks a password against a stored form that costs next to nothing: `{PLAIN}`, `{SHA}` and `{SSHA}`. Undefined: it is another
 * form. In constant time.
 */
export function quickCheck(password: Buffer, stored: string): boolean | undefined {
  if (stored.startsWith('{PLAIN}')) return areEqual(digest(password), digest(Buffer.from(stored.slice(7), 'latin1')))
  if (stored.startsWith('{SHA}')) return areEqual(digest(password), Buffer.from(stored.slice(5), 'base64'))
  if (!stored.startsWith('{SSHA}')) return undefined
  const salted = Buffer.from(stored.slice(6), 'base64')
  const salt = salted.subarray(SHA1_BYTES)
  return areEqual(digest(Buffer.concat([password, salt])), salted.subarray(0, SHA1_BYTES))
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha1').update(bytes).digest()
}

function areEqual(a: Buffer, b: Buffer): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b)
}
