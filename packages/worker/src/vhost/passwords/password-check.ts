import { createHmac, randomBytes } from 'node:crypto'
import { type Clock, SingleFlight } from '@svc/core'
import { FairQueue, type Place } from './fair-queue.ts'
import { GuessLimit } from './guess-limit.ts'
import { KnownOutcomes } from './known-outcomes.ts'
import { quickCheck } from './quick-check.ts'
import { isKnownForm } from './slow-check.ts'

/** Checks slow passwords, one at a time, where nobody waits for them. */
export interface SlowChecker {
  /** Rejects when it could not be checked. */
  check(password: Uint8Array, stored: string): Promise<boolean>
}

/**
 * Whether a password is right. `busy`: too many wait to be worked out. `limited`: its client guessed wrong too often.
 */
export type PasswordVerdict = boolean | 'busy' | 'limited'

/** Where a password that is to be checked comes from. */
export interface Asker extends Place {
  /** Network address that wrong guesses are counted for; "" where none is known: they are not counted. */
  readonly client: string
}

interface Question {
  readonly asker: Asker
  readonly password: Buffer
  readonly stored: string
  resolve(verdict: PasswordVerdict): void
  reject(error: unknown): void
}

/** Checks that may wait. More at a time are an attack, or a sign that the passwords are too slow for the traffic. */
const MAX_WAITING = 256

/**
 * Whether a password fits its stored form. A slow form is worked out once for each pair: what is remembered for a while is a
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
  check(password: Buffer, stored: string, asker: Asker): PasswordVerdict | Promise<PasswordVerdict> {
    const quick = quickCheck(password, stored)
    if (quick !== undefined) return quick
    if (!isKnownForm(stored)) return false
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

  #wait(password: Buffer, stored: string, asker: Asker): Promise<PasswordVerdict> {
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
    // What it asked in the meantime may have been wrong too often.
    if (this.#isLimited(asker)) return resolve('limited')
    try {
      const isRight = await this.#thread.check(password, stored)
      if (!isRight && asker.client !== '') this.#guesses.note(asker.client)
      resolve(isRight)
    } catch (error) {
      reject(error)
    }
  }

  #isLimited({ client }: Asker): boolean {
    return client !== '' && this.#guesses.isReached(client)
  }
}
