import { asError, type Clock } from '@svc/core'
import type { Purgeable, PurgeLayer } from '../purge/purge.ts'
import type { Fill, PurgeLedger } from '../purge/purge-ledger.ts'
import { acquireLease, type Lease, type LeaseDesk, type LeaseOutcome, ownKey } from './lease.ts'

/** How a fill ended. It decides the outcome of the lease, and the fate of the requests that still wait. */
export type FillEnd =
  /** The entry is in the store: they look it up. */
  | { readonly kind: 'stored' }
  /** The store did not take the entry: they look again, and other processes produce their own. */
  | { readonly kind: 'refused' }
  /** There is no result, and another attempt may bring one: they look again, and one of them fills. */
  | { readonly kind: 'lost' }
  /** Another process held the lease, and it has ended: they look up the result of that fill. */
  | { readonly kind: 'elsewhere'; readonly outcome: LeaseOutcome }
  /** The response is for one request alone, and so will be the next one: each goes on alone. */
  | { readonly kind: 'pass'; readonly detail: string }
  /** This response is for one request alone; the next one may not be: each goes on alone. */
  | { readonly kind: 'unshared'; readonly detail: string }
  /** All get the failure, or a stale entry: one failed attempt is enough. `error`: undefined where the policy has the response. */
  | { readonly kind: 'failed'; readonly error: Error | undefined }

const LEASE_OUTCOMES = {
  stored: 'stored',
  refused: 'pass',
  lost: 'failed',
  elsewhere: 'failed',
  pass: 'pass',
  unshared: 'failed',
  failed: 'failed',
} as const satisfies Record<FillEnd['kind'], LeaseOutcome>

/** A waiter whose deadline has passed. */
export interface LateWaiter {
  readonly kind: 'late'
}

/**
 * One kind of cache, for one fill. The fill calls it, never concurrently. If `ready` or `produce` throws, the fill fails; a throw
 * of another method concerns the request in hand alone.
 */
export interface FillPolicy<Waiter> {
  /**
   * The lease is granted. `fill`: the value is still to be produced. `stored`: it is in the store by now. `lost`: it is not
   * wanted any more. `first`: the request that leads if the fill goes on; undefined in a refresh.
   */
  ready(first: Waiter | undefined): 'fill' | 'stored' | 'lost'
  /**
   * Produces the value, now or later, and calls `offer` and `end` of the fill. `leader`: the request that it is produced for,
   * which does not wait any more; undefined in a refresh.
   */
  produce(leader: Waiter | undefined): void
  /** Hands the result of the fill to a request. `wait`: it is not for this request, which waits for the end. `again`: it looks again. */
  give(waiter: Waiter): 'given' | 'wait' | 'again'
  /** The fill has ended. Called once, before the waiters are dismissed. */
  settled(end: FillEnd): void
  /** Releases a waiting request; the reason decides how it continues. */
  dismiss(waiter: Waiter, reason: FillEnd | LateWaiter): void
}

/** The right to fill that other processes respect. */
interface LeaseRequest {
  readonly key: string
  /** How long to wait for the fill of another process. */
  readonly waitMs: number
  /** How long other processes are made to wait; undefined: until the fill ends. */
  readonly limitMs?: number
  /** Fills beside other processes after the fill of another one failed; otherwise the waiting requests look again, and one retries. */
  readonly isOptional?: boolean
  /** Waits for no other process, and makes none wait. */
  readonly isOwn?: boolean
}

export interface FillOptions {
  /** undefined: this process fills without asking the others. */
  readonly lease?: LeaseRequest | undefined
  /** Goes on without a request that waits: a stale entry is refreshed in the background. */
  readonly isRefresh?: boolean
}

/** State shared by all fills of a cache. */
interface FillContext {
  readonly ledger: PurgeLedger
  /** undefined: the cache never requests a lease. */
  readonly leases: LeaseDesk | undefined
  readonly clock: Pick<Clock, 'after' | 'monotonic'>
  /** The fill takes no more requests. */
  readonly onClosed: () => void
  readonly onEnded: () => void
  readonly onProblem: (error: Error) => void
}

/**
 * All requests of this process for one missing or stale entry, from the first of them until the entry is stored. States:
 * `leasing` (waits for other processes), `filling` (the policy produces), `offering` (there is a response, which is not in the
 * store yet), `ended`.
 */
export class SharedFill<Waiter extends object, Policy extends FillPolicy<Waiter> = FillPolicy<Waiter>> implements Fill {
  readonly key: string
  readonly policy: Policy
  readonly isRefresh: boolean
  readonly #context: FillContext
  readonly #lease: LeaseRequest | undefined
  /** Each with the end of its deadline. */
  readonly #waiters = new Map<Waiter, (() => void) | undefined>()
  readonly #ended = Promise.withResolvers<FillEnd>()
  #state: 'leasing' | 'filling' | 'offering' | 'ended' = 'leasing'
  #isClosed = false
  #held: Lease | undefined
  #token: Fill | undefined

  constructor(key: string, policy: Policy, context: FillContext, { lease, isRefresh = false }: FillOptions) {
    this.key = key
    this.isRefresh = isRefresh
    this.policy = policy
    this.#context = context
    this.#lease = lease
  }

  /** Number of the last purge that was known when the value began to be produced. */
  get seq(): number {
    return this.#token?.seq ?? this.#context.ledger.last
  }

  /** Resolves with the end. Never rejects. */
  get ended(): Promise<FillEnd> {
    return this.#ended.promise
  }

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** True if requests that come now may join. */
  get isOpen(): boolean {
    return !this.#isClosed && this.#state !== 'ended'
  }

  /** True if other processes can find out about this fill. */
  get isLeased(): boolean {
    return this.#held?.isHeld === true
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** True if no purge since the value began to be produced takes this entry. */
  mayStore(entry: Purgeable, layer?: PurgeLayer): boolean {
    return this.#token === undefined || this.#context.ledger.mayStore(this.#token, entry, layer)
  }

  /**
   * Takes a request: hands it the result of the fill, or lets it wait.
   * @param deadlineMs until when it waits, in milliseconds of the monotonic clock; undefined: to the end
   */
  join(waiter: Waiter, deadlineMs?: number): void {
    const { clock } = this.#context
    const late = () => this.#dismiss(waiter, { kind: 'late' })
    const cancel = deadlineMs === undefined ? undefined : clock.after(Math.max(0, deadlineMs - clock.monotonic()), late)
    this.#waiters.set(waiter, cancel)
    // Nothing else would ever let it go.
    if (this.isEnded) this.#dismiss(waiter, { kind: 'lost' })
    if (this.#state === 'offering') this.#give(waiter)
  }

  /** Forgets a request: its client has left. False: it did not wait here. */
  leave(waiter: Waiter): boolean {
    this.#waiters.get(waiter)?.()
    return this.#waiters.delete(waiter)
  }

  /** Requests the lease, if the policy wants one, and starts. To be called once, after the first request has joined. */
  start(): void {
    const { leases } = this.#context
    if (this.#lease === undefined || leases === undefined) this.#begin()
    else void this.#acquire(leases, this.#lease)
  }

  /** Changes how long other processes are made to wait, from now on. */
  limitLease(limitMs: number): void {
    this.#held?.limit(limitMs)
  }

  /** There is a response: waiting requests get it, and so do requests that join until the end. */
  offer(): void {
    if (this.isEnded) return
    this.#state = 'offering'
    for (const waiter of [...this.#waiters.keys()]) this.#give(waiter)
  }

  /** Takes no more requests; waiting requests keep waiting. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#context.onClosed()
  }

  /** Ends the fill. Only the first call counts: the policy may still send the response to its own client. */
  end(end: FillEnd): void {
    if (this.isEnded) return
    this.#state = 'ended'
    this.close()
    if (this.#token !== undefined) this.#context.ledger.end(this.#token)
    this.#held?.end(LEASE_OUTCOMES[end.kind])
    this.#context.onEnded()
    this.#guarded(() => this.policy.settled(end))
    for (const waiter of [...this.#waiters.keys()]) this.#dismiss(waiter, end)
    this.#ended.resolve(end)
  }

  async #acquire(desk: LeaseDesk, { key, waitMs, limitMs, isOptional, isOwn }: LeaseRequest): Promise<void> {
    const { clock } = this.#context
    let answer = await acquireLease(desk, isOwn === true ? ownKey(key) : key, waitMs, clock)
    if (answer.kind === 'ended' && isOptional === true && answer.outcome === 'failed') {
      answer = await acquireLease(desk, ownKey(key), waitMs, clock)
    }
    if (answer.kind === 'ended') this.end({ kind: 'elsewhere', outcome: answer.outcome })
    else if (this.isEnded) answer.lease.end('failed')
    else {
      this.#held = answer.lease
      if (limitMs !== undefined) answer.lease.limit(limitMs)
      this.#begin()
    }
  }

  #begin(): void {
    if (this.isEnded) return
    const first = this.#waiters.keys().next().value
    try {
      if (first === undefined && !this.isRefresh) {
        // All clients have left.
        this.end({ kind: 'lost' })
        return
      }
      const answer = this.policy.ready(first)
      if (answer !== 'fill') {
        this.end({ kind: answer })
        return
      }
      this.#state = 'filling'
      this.#token = this.#context.ledger.begin()
      if (first !== undefined) this.leave(first)
      this.policy.produce(first)
    } catch (thrown) {
      const error = asError(thrown)
      this.#context.onProblem(error)
      // The leader does not wait any more: nothing else answers it.
      const leader = this.#state === 'filling' ? first : undefined
      this.end({ kind: 'failed', error })
      if (leader !== undefined) this.#guarded(() => this.policy.dismiss(leader, { kind: 'failed', error }))
    }
  }

  #give(waiter: Waiter): void {
    if (!this.#waiters.has(waiter)) return
    const error = this.#guarded(() => {
      const outcome = this.policy.give(waiter)
      if (outcome === 'again') this.#dismiss(waiter, { kind: 'lost' })
      else if (outcome === 'given') this.leave(waiter)
    })
    if (error !== undefined) this.#dismiss(waiter, { kind: 'failed', error })
  }

  #dismiss(waiter: Waiter, reason: FillEnd | LateWaiter): void {
    if (this.leave(waiter)) this.#guarded(() => this.policy.dismiss(waiter, reason))
  }

  /** Calls the policy for one request: if that fails, the others must not wait for ever. */
  #guarded(call: () => void): Error | undefined {
    try {
      call()
      return undefined
    } catch (thrown) {
      const error = asError(thrown)
      this.#context.onProblem(error)
      return error
    }
  }
}
