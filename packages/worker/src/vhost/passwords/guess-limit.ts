import type { Clock } from '@svc/core'
import { GUESS_RECOVERY_SECONDS } from './basic-auth.ts'

/** Wrong guesses that a client may make one after another. */
const MAX_GUESSES = 20
const RECOVERY_MS = GUESS_RECOVERY_SECONDS * 1_000
/** Clients that are remembered. */
const MAX_CLIENTS = 10_000

/** Wrong guesses by client: who made many lately gets no further one worked out for a while. */
export class GuessLimit {
  readonly #clock: Clock
  /** When the last of a client's guesses is forgotten. The client whose guess is the oldest first. */
  readonly #forgottenAt = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a client must wait before it guesses again. */
  isReached(client: string): boolean {
    const forgottenAt = this.#forgottenAt.get(client)
    return forgottenAt !== undefined && forgottenAt - this.#clock.monotonic() > (MAX_GUESSES - 1) * RECOVERY_MS
  }

  /** A client guessed wrong. */
  note(client: string): void {
    const now = this.#clock.monotonic()
    const before = Math.max(now, this.#forgottenAt.get(client) ?? 0)
    this.#forgottenAt.delete(client)
    this.#forgottenAt.set(client, before + RECOVERY_MS)
    const [oldest] = this.#forgottenAt.size > MAX_CLIENTS ? this.#forgottenAt.keys() : []
    if (oldest !== undefined) this.#forgottenAt.delete(oldest)
  }
}
