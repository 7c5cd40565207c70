import { type Clock, entryOf, FairQueue, type QueueOwner } from '@svc/core'

/** Strangers of a user get one turn per slot. */
const SLOT_MS = 1_000
/** Users whose strangers wait. Names without a user count too. */
const MAX_LINES = 10_000
/** Attempts that wait for a turn as one user. */
const MAX_STRANGERS = 10
/** Verifications that wait, of users from known networks and of all others. */
const MAX_WAITING = 64

/** Lanes of networks that have not failed lately, and of those that have: neither fills the places of the other. */
const freshLane = {}
const failedLane = {}

/** Source of an attempt. */
interface Source {
  readonly network: string
  readonly hasFailed: boolean
}

/** False: it lost its place to another. */
type Waiting = (hasTurn: boolean) => void

function ownerOf({ network, hasFailed }: Source): QueueOwner {
  return { lane: hasFailed ? failedLane : freshLane, client: network }
}

function placeIn(queue: FairQueue<Waiting>, source: Source): Promise<boolean> {
  return new Promise((resolve) => queue.add(resolve, ownerOf(source))?.(false))
}

/** Lets one attempt a second go for each user. Networks take turns, and those that have not failed lately take turns with the others. */
export class StrangerLines {
  readonly #clock: Clock
  readonly #lines = new Map<string, FairQueue<Waiting>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves with true at the attempt's turn, with false if all places are taken, or others have more right to this one. */
  async turn(username: string, source: Source): Promise<boolean> {
    const isFirst = !this.#lines.has(username)
    if (isFirst && this.#lines.size >= MAX_LINES) return false
    const line = entryOf(this.#lines, username, () => new FairQueue<Waiting>(MAX_STRANGERS))
    if (!isFirst) return placeIn(line, source)
    this.#advanceLater(username, line)
    return true
  }

  #advanceLater(username: string, line: FairQueue<Waiting>): void {
    this.#clock.after(SLOT_MS, () => {
      const next = line.next()
      if (next === undefined) {
        this.#lines.delete(username)
      } else {
        this.#advanceLater(username, line)
        next(true)
      }
    })
  }
}

/**
 * Runs one verification at a time: each takes tens of megabytes and of milliseconds. Users from networks that they have logged in from
 * go first. Then networks take turns, so that one with many attempts delays the others by one.
 */
export class VerificationLine {
  readonly #known = new FairQueue<Waiting>(MAX_WAITING)
  readonly #others = new FairQueue<Waiting>(MAX_WAITING)
  #isBusy = false

  /** Undefined: the task did not run, because all places are taken, or others have more right to this one. */
  async run<T>(source: Source & { readonly isKnown: boolean }, task: () => Promise<T>): Promise<T | undefined> {
    if (this.#isBusy && !(await placeIn(source.isKnown ? this.#known : this.#others, source))) return undefined
    this.#isBusy = true
    try {
      return await task()
    } finally {
      const next = this.#known.next() ?? this.#others.next()
      // The one that leaves passes its place on.
      if (next === undefined) this.#isBusy = false
      else next(true)
    }
  }
}
