import type { Slice } from '@svc/protocol'

/** A slice that is so large is renewed ahead of need, when half of it is used. */
const RENEWED_FROM = 4
/** A refused client is asked about again after this at the latest: it may have been unblocked elsewhere. */
const MAX_REFUSED_MS = 1_000
/** A reply of the master that is older says nothing about the current window. */
const WINDOW_MS = 61_000

/** The part of a budget that a worker hands out by itself while the master does not reply, in requests. */
export interface OwnShare {
  /** In each second. */
  readonly perSecond: number
  /** In a window, beyond the even share. */
  readonly perWindow: number
  readonly workers: number
}

/** A part of a slice that is to be given back. */
export type UnusedPart = Pick<Slice, 'second' | 'isShared' | 'requests'>

/**
 * The budget of one client, as far as this worker knows it: its slice, and how much is left beyond. Times are in milliseconds of the monotonic
 * clock.
 */
export class ClientBudget {
  readonly client: string
  /** Requests that may pass until `until`. */
  #requests = 0
  #until = 0
  #second = 0
  #isShared = false
  #renewAt = -1
  /** In the whole window, as the master last said. A client that is new has its whole budget. */
  #left = Number.POSITIVE_INFINITY
  #repliedAt = Number.NEGATIVE_INFINITY
  #refusedUntil = 0
  #retryAt = 0
  /** Requests that have passed without a slice, until the master counts them. */
  #passed = 0
  /** Requests that were let pass here while an order was in flight, which may have been for them: its slice pays for them. */
  #advanced = 0
  #refused = 0
  waiting = 0
  /** The order that is in flight: true if the master has replied. Never rejects. */
  order: Promise<boolean> | undefined
  #localSecond = 0
  #localPasses = 0
  /** Requests beyond the even share that may pass here since the reply of `#repliedAt`; undefined: not computed yet. */
  #localLeft: number | undefined

  constructor(client: string) {
    this.client = client
  }

  /** Lets one request pass if that needs no reply of the master. */
  tryPass(now: number): boolean {
    if (this.#requests > 0 && now < this.#until) {
      this.#requests--
      return true
    }
    // One request of each worker may go ahead of the count, as long as the budget is not used up.
    if (this.order !== undefined || this.#passed > 0 || this.#left <= 0 || now < this.#refusedUntil) return false
    this.#passed++
    return true
  }

  /** True if a slice should be ordered now, though no request waits. */
  get wantsOrder(): boolean {
    return this.order === undefined && (this.#passed > 0 || this.#requests === this.#renewAt)
  }

  isRefused(now: number): boolean {
    return now < this.#refusedUntil
  }

  countRefusal(): void {
    this.#refused++
  }

  /** Milliseconds until more of the budget is left. */
  retryMs(now: number): number {
    return Math.max(0, this.#retryAt - now)
  }

  /** The figures for an order, which the master counts: `undo` brings them back if its connection ends first. */
  takeFigures(): { readonly passed: number; readonly refused: number; readonly undo: () => void } {
    const passed = this.#passed
    const refused = this.#refused
    this.#passed = 0
    this.#refused = 0
    const undo = () => {
      this.#passed += passed + this.#advanced
      this.#advanced = 0
      this.#refused += refused
    }
    return { passed, refused, undo }
  }

  /** Takes a slice. @returns an unused part of the one before, which has counted in another second */
  take({ requests, second, isShared, validMs, left, retryMs }: Slice, orderedAt: number, now: number): UnusedPart | undefined {
    const isSame = second === this.#second && isShared === this.#isShared
    const unused = isSame ? undefined : this.takeUnused()
    const paid = Math.min(requests, this.#advanced)
    this.#passed += this.#advanced - paid
    this.#advanced = 0
    this.#requests += requests - paid
    this.#second = second
    this.#isShared = isShared
    this.#until = orderedAt + validMs
    this.#renewAt = requests >= RENEWED_FROM ? this.#requests >> 1 : -1
    this.#left = left
    this.#repliedAt = now
    this.#localLeft = undefined
    const isUsedUp = requests === 0 && left === 0
    this.#refusedUntil = isUsedUp ? now + Math.min(retryMs, MAX_REFUSED_MS) : 0
    this.#retryAt = isUsedUp ? now + retryMs : 0
    return unused
  }

  /** The slice can no longer be used at this time. */
  isOver(now: number): boolean {
    return now >= this.#until
  }

  get until(): number {
    return this.#until
  }

  /** Takes the rest of the slice away; undefined: all was used. */
  takeUnused(): UnusedPart | undefined {
    if (this.#requests === 0) return undefined
    const unused = { second: this.#second, isShared: this.#isShared, requests: this.#requests }
    this.#requests = 0
    this.#renewAt = -1
    return unused
  }

  /** Decides while the master does not reply: an even share passes in each second, and this worker's part of what was left. */
  passesHere(now: number, share: OwnShare): boolean {
    if (!this.#takeEvenShare(now, share.perSecond) && !this.#takeFromLeft(now, share)) return false
    if (this.order === undefined) this.#passed++
    else this.#advanced++
    return true
  }

  #takeEvenShare(now: number, perSecond: number): boolean {
    const second = Math.floor(now / 1000)
    if (second !== this.#localSecond) {
      this.#localSecond = second
      this.#localPasses = 0
    }
    if (this.#localPasses >= perSecond) return false
    this.#localPasses++
    return true
  }

  #takeFromLeft(now: number, { perWindow, workers }: OwnShare): boolean {
    const isCurrent = now - this.#repliedAt < WINDOW_MS
    if (this.#localLeft === undefined || !isCurrent) {
      this.#localLeft = Math.floor((isCurrent ? Math.min(this.#left, perWindow) : perWindow) / workers)
      if (!isCurrent) this.#repliedAt = now
    }
    if (this.#localLeft <= 0) return false
    this.#localLeft--
    return true
  }
}
