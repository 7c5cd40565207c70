import { EVERYTHING, type Purge, type PurgedStore, type PurgeLayer, type PurgeOrder, type PurgeState } from '@svc/cache'
import { asError, codeOf, Gate } from '@svc/core'
import { type Acknowledged, type AskSettings, askMembers, type PurgeMember, SupervisorError } from '@svc/processes'
import type { PurgeOutcome } from '@svc/protocol'
import type { PurgeNumbers } from './purge-numbers.ts'

/** Options of a `PurgeCoordinator`. */
interface PurgeCoordinatorOptions extends AskSettings {
  readonly numbers: PurgeNumbers
  /** The shared stores; each takes the purges of its layer. */
  readonly stores: Readonly<Record<StoreLayer, PurgedStore>>
  /** Current members: all processes that got a state, until their end. */
  readonly hosts: () => readonly PurgeMember[]
  readonly workers: () => readonly PurgeMember[]
  readonly onDone: (purge: Purge, outcome: PurgeOutcome) => void
  /** Tells the other instances, before a purge is carried out here; undefined: there are none. */
  readonly publisher?: () => Publisher | undefined
}

/** A purge on its way to the other instances. */
export interface Published {
  /** `deferred`: Redis is away, and gets it later. */
  readonly l2: 'purged' | 'deferred'
  /** Waits for the other instances, for a bounded time. Never rejects. */
  confirmed(): Promise<PurgeOutcome['instances']>
}

/** Brings purges to the other instances. */
interface Publisher {
  /** To be called before a purge is carried out here. Never rejects. */
  publish(order: PurgeOrder): Promise<Published>
}

/** Layers that all processes share. */
type StoreLayer = Exclude<PurgeLayer, 'l0'>

/** A purge that the shared stores have not applied yet. */
interface Unsettled {
  readonly purge: Purge
  isWithWorkers: boolean
}

/** A purge that has its number and was sent to the hosts. */
interface Begun {
  readonly purge: Purge
  readonly hostsDone: Promise<unknown>
  /** Every earlier purge has been sent to the workers. */
  readonly turn: Promise<void>
  readonly isSent: PromiseWithResolvers<void>
}

/** Effect of a purge on the stores. */
interface Taken {
  readonly counts: Readonly<Record<StoreLayer, number>>
  /** Settles when the stores have applied it; undefined: they have. */
  readonly followed: Promise<unknown> | undefined
}

/** Every read checks all purges that the store has not applied: past this number, one purge of everything replaces them. */
const MAX_FAILED = 100

/** A process with thousands of queued purges cannot confirm the last one in time and would be killed for it. The others wait here. */
const MOST_AT_A_TIME = 16

/** True if a purge concerns the ISR layer: render hosts hold no entries of other layers. */
function concernsHosts(order: PurgeOrder): boolean {
  return order.layers.includes('isr')
}

/** Matches no entry: only its flag counts. */
const CLOSES_SHARED_CACHE: PurgeOrder = { layers: ['isr', 'proxy'], scopes: [], mode: 'drop', closesSharedCache: true }

/** The one instance that knows of a purge which no other needs. */
const ALONE = { acked: 1, known: 1 }

const nothing: Taken = { counts: { isr: 0, proxy: 0 }, followed: undefined }

/**
 * Runs purges: numbers them and sends each to the render hosts, then the workers, then the store. Purges overlap, but every
 * process gets them in the order of their numbers, and no worker gets one before all hosts have noted it.
 */
export class PurgeCoordinator {
  readonly #options: PurgeCoordinatorOptions
  readonly #unsettled = new Map<number, Unsettled>()
  /** Purges that the store failed to apply; retried with the next one. */
  readonly #failed: Purge[] = []
  #lastOfHosts: number
  #lastOfWorkers: number
  readonly #beginning = new Gate(1)
  #previousSent: Promise<void> = Promise.resolve()
  readonly #gate = new Gate(MOST_AT_A_TIME)

  constructor(options: PurgeCoordinatorOptions) {
    this.#options = options
    this.#lastOfHosts = options.numbers.last
    this.#lastOfWorkers = options.numbers.last
  }

  /** The state for a render host that joins. */
  hostState(): PurgeState {
    return { last: this.#lastOfHosts, unsettled: Array.from(this.#unsettled.values(), ({ purge }) => purge) }
  }

  /**
   * The state for a worker that joins. It must not include a purge that a host may not have noted: its entries could be made of
   * data that the purge removes.
   */
  workerState(): PurgeState {
    const known = [...this.#unsettled.values()].filter(({ isWithWorkers }) => isWithWorkers)
    return { last: this.#lastOfWorkers, unsettled: known.map(({ purge }) => purge) }
  }

  /**
   * Resolves when no process of the instance serves entries that the purge matches, and the other instances have confirmed it, if
   * they do so in time.
   * @throws SUP_PURGE_FAILED if a store failed to apply it: even then no process serves those entries
   */
  async purge(order: PurgeOrder): Promise<PurgeOutcome> {
    const { clock, publisher } = this.#options
    const startedAt = clock.monotonic()
    // Before the first process gets it: a fill that begins after it must not find older entries in the shared cache.
    const published = await publisher?.()?.publish(order)
    const outcome = await this.purgeHere(order)
    const instances = (await published?.confirmed()) ?? ALONE
    const tookMs = clock.monotonic() - startedAt
    return { ...outcome, instances, tookMs, ...(published !== undefined && { l2: published.l2 }) }
  }

  /**
   * Has all processes leave the cache alone that the instances share. Resolves, when they do, with the function that lets them use it again.
   */
  async closeSharedCache(): Promise<() => void> {
    const { purge } = await this.#send(CLOSES_SHARED_CACHE)
    return () => this.#settle(purge)
  }

  /** Like `purge`, for a purge that concerns this instance alone, or came from another one. */
  async purgeHere(order: PurgeOrder): Promise<PurgeOutcome> {
    const { clock } = this.#options
    const startedAt = clock.monotonic()
    const { purge, workers } = await this.#gate.run(() => this.#send(order))
    const isStored = purge.layers.some((layer) => layer !== 'l0')
    const { counts, followed } = isStored ? await this.#purgeStores(purge) : nothing
    if (followed === undefined) this.#settle(purge)
    else void followed.then(() => this.#settle(purge)).catch((error: unknown) => this.#noteFailed(purge, error))
    const outcome: PurgeOutcome = {
      number: purge.number,
      l0: workers.dropped,
      ...counts,
      workersAcked: workers.acked,
      workersTotal: workers.total,
      instances: ALONE,
      tookMs: clock.monotonic() - startedAt,
    }
    this.#options.onDone(purge, outcome)
    return outcome
  }

  /** Resolves when every process has noted the purge or has ended. */
  async #send(order: PurgeOrder): Promise<{ readonly purge: Purge; readonly workers: Acknowledged }> {
    const begun = await this.#beginning.run(() => this.#begin(order))
    await begun.hostsDone
    return { purge: begun.purge, workers: await this.#sendToWorkers(begun) }
  }

  /** Numbers the purge and sends it to the hosts in the same turn. */
  async #begin(order: PurgeOrder): Promise<Begun> {
    const number = await this.#options.numbers.next()
    const purge: Purge = { ...order, number }
    this.#unsettled.set(number, { purge, isWithWorkers: false })
    this.#lastOfHosts = number
    const hostsDone = concernsHosts(order) ? askMembers(this.#options.hosts(), purge, this.#options) : Promise.resolve()
    const isSent = Promise.withResolvers<void>()
    const turn = this.#previousSent
    this.#previousSent = isSent.promise
    return { purge, hostsDone, turn, isSent }
  }

  async #sendToWorkers({ purge, turn, isSent }: Begun): Promise<Acknowledged> {
    await turn
    const known = this.#unsettled.get(purge.number)
    if (known !== undefined) known.isWithWorkers = true
    this.#lastOfWorkers = purge.number
    // Sent to all of them before this returns.
    const answers = askMembers(this.#options.workers(), purge, this.#options)
    isSent.resolve()
    return answers
  }

  async #purgeStores(purge: Purge): Promise<Taken> {
    try {
      const { isr, proxy } = this.#options.stores
      // One after the other: each step holds the thread.
      const begun = [await isr.beginPurge(purge), await proxy.beginPurge(purge)] as const
      await this.#purgeFailed()
      const following = begun.flatMap(({ followed }) => followed ?? [])
      const counts = { isr: begun[0].count, proxy: begun[1].count }
      return { counts, followed: following.length === 0 ? undefined : Promise.all(following) }
    } catch (error) {
      this.#noteFailed(purge, error)
      throw new SupervisorError('SUP_PURGE_FAILED', 'a store failed to apply the purge', { cause: error })
    }
  }

  /** Keeps the purge unsettled: every process goes on filtering its reads of the store. */
  #noteFailed(purge: Purge, error: unknown): void {
    this.#failed.push(purge)
    if (this.#failed.length > MAX_FAILED) void this.#gatherFailed()
    this.#options.logger.error({ purge: purge.number, err: asError(error) }, 'a store failed to apply a purge')
  }

  /** Retries failed purges, since the store works again. */
  async #purgeFailed(): Promise<void> {
    for (let purge = this.#failed.shift(); purge !== undefined; purge = this.#failed.shift()) {
      const { isr, proxy } = this.#options.stores
      try {
        await isr.purge(purge)
        await proxy.purge(purge)
      } catch {
        // It is logged already, and stays in force.
        this.#failed.unshift(purge)
        return
      }
      this.#settle(purge)
    }
  }

  /** Replaces the failed purges by one of everything, which covers them whether the store applies it or not. Never rejects. */
  async #gatherFailed(): Promise<void> {
    const failed = this.#failed.splice(0)
    // A failure of the store is logged, and remembered like any other; any other failure means that no process got it.
    const isKnown = await this.purgeHere(EVERYTHING).then(
      () => true,
      (error) => codeOf(error) === 'SUP_PURGE_FAILED',
    )
    if (isKnown) for (const purge of failed) this.#settle(purge)
    else this.#failed.unshift(...failed)
  }

  #settle({ number }: Purge): void {
    this.#unsettled.delete(number)
    for (const member of [...this.#options.hosts(), ...this.#options.workers()]) member.settled(number)
  }
}
