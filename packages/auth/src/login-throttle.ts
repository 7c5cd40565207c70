import { entryOf, setNewest } from '@svc/core'
import { clientNetwork } from '@svc/http'

/** Failures without a wait, of a user from one network, and of a network whatever the user. */
const FREE_OF_PAIR = 5
const FREE_OF_NETWORK = 20
/** Failures of a user in a row, from anywhere, before logins from strange networks queue. */
const FREE_OF_USER = 20

/** The wait after the last free failure; each further one doubles it. */
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 15 * 60_000
/** A counter without a failure for so long starts again. */
const FORGET_MS = 60 * 60_000

/** Counters of each kind: past it the one whose last failure is the oldest is forgotten. */
const MAX_COUNTERS = 10_000
/** Networks that are remembered for each configured user. */
const MAX_KNOWN_NETWORKS = 32

/** A login before its password is verified. */
export interface LoginAttempt {
  readonly username: string
  /** True if the configuration has this user. */
  readonly isConfigured: boolean
  /** Canonical address of the client. */
  readonly address: string
}

/** `go`: verify the password, when its turn comes. */
type LoginVerdict =
  | {
      readonly kind: 'go'
      /** It waits for a turn among the strangers of its user. */
      readonly isQueued: boolean
      readonly network: string
      /** The user has logged in from the network before. */
      readonly isKnown: boolean
      /** The network, unless it is known, has failed lately. */
      readonly hasFailed: boolean
    }
  | { readonly kind: 'throttled'; readonly retryAfterSecs: number }

interface Counter {
  failures: number
  lastAt: number
}

/** Failures by key, as many as fit. */
class Counters {
  readonly #counters = new Map<string, Counter>()

  get(key: string, nowMs: number): Counter {
    const found = this.#counters.get(key)
    return found === undefined || nowMs - found.lastAt > FORGET_MS ? { failures: 0, lastAt: nowMs } : found
  }

  /** Time to wait after so many failures. */
  waitMs(key: string, free: number, nowMs: number): number {
    const { failures, lastAt } = this.get(key, nowMs)
    if (failures < free) return 0
    return Math.max(0, lastAt + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - free)) - nowMs)
  }

  add(key: string, nowMs: number): void {
    const { failures } = this.get(key, nowMs)
    setNewest(this.#counters, key, { failures: failures + 1, lastAt: nowMs }, MAX_COUNTERS)
  }

  /** Takes one failure back. */
  subtract(key: string): void {
    const counter = this.#counters.get(key)
    if (counter !== undefined && --counter.failures <= 0) this.delete(key)
  }

  delete(key: string): void {
    this.#counters.delete(key)
  }
}

function pairKey(username: string, network: string): string {
  return `${network}\0${username}`
}

function throttled(waitMs: number): LoginVerdict {
  return { kind: 'throttled', retryAfterSecs: Math.ceil(waitMs / 1000) }
}

/**
 * Decides which guesses of passwords wait, so that no client can keep a user out: a network from which a user has logged in before is
 * slowed only by failures of that user from there. Memory is bounded, and a flood of networks or names pushes out no fact about
 * configured users. A network is an IPv4 address or an IPv6 /64.
 */
export class LoginThrottle {
  readonly #pairs = new Counters()
  readonly #networks = new Counters()
  readonly #users = new Counters()
  /** Unknown names answer as known ones do, in a memory of their own: anyone can make up any number of them. */
  readonly #strangers = new Counters()
  readonly #known = new Map<string, Map<string, true>>()

  /** @param known networks of successful logins by username, the latest last, as `known` gave them */
  constructor(known: Readonly<Record<string, readonly string[]>> = {}) {
    for (const [username, networks] of Object.entries(known)) {
      this.#known.set(username, new Map(networks.slice(-MAX_KNOWN_NETWORKS).map((network) => [network, true])))
    }
  }

  /** Networks of successful logins by username; they outlive a restart. */
  get known(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(Array.from(this.#known, ([username, networks]) => [username, [...networks.keys()]]))
  }

  /** Returns true if the user has logged in from this network before. */
  isKnown({ username, address }: LoginAttempt): boolean {
    return this.#known.get(username)?.has(clientNetwork(address)) === true
  }

  /**
   * Decides on an attempt. One that goes counts as a failure until `succeeded` takes it back, so that attempts at once are limited too.
   * @param nowMs monotonic
   */
  begin(attempt: LoginAttempt, nowMs: number): LoginVerdict {
    const network = clientNetwork(attempt.address)
    const pair = pairKey(attempt.username, network)
    const isKnown = this.isKnown(attempt)
    const ofNetwork = isKnown ? 0 : this.#networks.waitMs(network, FREE_OF_NETWORK, nowMs)
    const waitMs = Math.max(this.#pairs.waitMs(pair, FREE_OF_PAIR, nowMs), ofNetwork)
    if (waitMs > 0) return throttled(waitMs)
    const users = this.#countersOf(attempt)
    const isQueued = !isKnown && users.get(attempt.username, nowMs).failures >= FREE_OF_USER
    const hasFailed = this.#networks.get(network, nowMs).failures > 0
    this.#pairs.add(pair, nowMs)
    if (!isKnown) this.#networks.add(network, nowMs)
    users.add(attempt.username, nowMs)
    return { kind: 'go', isQueued, network, isKnown, hasFailed }
  }

  /** The attempt got no turn: its password was not verified. */
  withdrawn(attempt: LoginAttempt): void {
    const network = clientNetwork(attempt.address)
    this.#pairs.subtract(pairKey(attempt.username, network))
    if (!this.isKnown(attempt)) this.#networks.subtract(network)
    this.#countersOf(attempt).subtract(attempt.username)
  }

  /** The password was right. Returns true if `known` has changed. */
  succeeded(attempt: LoginAttempt): boolean {
    const { username, address } = attempt
    const network = clientNetwork(address)
    const wasKnown = this.isKnown(attempt)
    this.#pairs.delete(pairKey(username, network))
    this.#users.delete(username)
    // One success of an attacker's own must not free the network.
    if (!wasKnown) this.#networks.subtract(network)
    const networks = entryOf(this.#known, username, () => new Map())
    setNewest(networks, network, true, MAX_KNOWN_NETWORKS)
    return !wasKnown
  }

  /** Forgets users that the configuration has no more. */
  retain(isConfigured: (username: string) => boolean): void {
    for (const username of this.#known.keys()) if (!isConfigured(username)) this.#known.delete(username)
  }

  #countersOf({ isConfigured }: LoginAttempt): Counters {
    return isConfigured ? this.#users : this.#strangers
  }
}
