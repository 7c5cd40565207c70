import type { Purge, PurgedStore, PurgeLayer, PurgeOrder, PurgeState } from '@svc/cache'
import { asError, codeOf, type Deferred, deferred, Gate } from '@svc/core'
import { type Acknowledged, type AskSettings, askMembers, type PurgeMember, SupervisorError } from '@svc/processes'
import type { PurgeOutcome } from '@svc/protocol'
import type { PurgeNumbers } from './purge-numbers.ts'

/** What purges are carried out with. */
interface PurgeCoordinatorOptions extends AskSettings {
  readonly numbers: PurgeNumbers
  /** The shared stores; each takes what is about its layer. */
  readonly stores: Readonly<Record<StoreLayer, PurgedStore>>
  /** Processes that take part at the moment: all that were given a state, until their end. */
  readonly hosts: () => readonly PurgeMember[]
  readonly workers: () => readonly PurgeMember[]
  readonly onDone: (purge: Purge, outcome: PurgeOutcome) => void
}

/** Layers that all processes share. */
type StoreLayer = Exclude<PurgeLayer, 'l0'>

/** A purge that the shared stores do not follow yet. */
interface Unsettled {
  readonly purge: Purge
  isWithWorkers: boolean
}

/** A purge that has its number, and that hosts were told of. */
interface Begun {
  readonly purge: Purge
  readonly hostsDone: Promise<unknown>
  /** Every earlier purge has been sent to the workers. */
  readonly turn: Promise<void>
  readonly isSent: Deferred<void>
}

/** What a purge takes from the stores. */
interface Taken {
  readonly counts: Readonly<Record<StoreLayer, number>>
  /** Settles when the stores follow; undefined: they do. */
  readonly followed: Promise<unknown> | undefined
}

/** Every read asks all purges that the store does not follow: past so many, one of everything stands for them. */
const MAX_FAILED = 100

/** A process that has thousands of purges before it cannot answer the last one in time, and would be killed for it. The others wait here. */
const MOST_AT_A_TIME = 16
const EVERYTHING: PurgeOrder = { layers: ['isr', 'proxy'], scopes: [{ kind: 'everything' }], mode: 'drop' }

/** Render hosts keep and make ISR entries alone: the other layers are no business of theirs. */
function concernsHosts(order: PurgeOrder): boolean {
  return order.layers.includes('isr')
}

const nothing: Taken = { counts: { isr: 0, proxy: 0 }, followed: undefined }

/**
 * Carries out purges: numbers them and takes each to the render hosts, then the workers, then the store. Purges overlap, but
 * every process hears of them in the order of their numbers, and no worker of one before all hosts have noted it.
 */
export class PurgeCoordinator {
  readonly #options: PurgeCoordinatorOptions
  readonly #unsettled = new Map<number, Unsettled>()
  /** Those of them that the store did not follow; tried again with the next one. */
  readonly #failed: Purge[] = []
  #lastOfHosts: number
  #lastOfWorkers: number
  #beginning: Promise<unknown> = Promise.resolve()
  #previousSent: Promise<void> = Promise.resolve()
  readonly #gate = new Gate(MOST_AT_A_TIME)

  constructor(options: PurgeCoordinatorOptions) {
    this.#options = options
    this.#lastOfHosts = options.numbers.last
    this.#lastOfWorkers = options.numbers.last
  }

  /** What a render host that begins to take part has to know. */
  hostState(): PurgeState {
    return { last: this.#lastOfHosts, unsettled: Array.from(this.#unsettled.values(), ({ purge }) => purge) }
  }

  /**
   * What a worker that begins to take part has to know. It must not claim to know a purge that a host may not have noted: its
   * entries could be made of data that the purge takes away.
   */
  workerState(): PurgeState {
    const known = [...this.#unsettled.values()].filter(({ isWithWorkers }) => isWithWorkers)
    return { last: this.#lastOfWorkers, unsettled: known.map(({ purge }) => purge) }
  }

  /**
   * Resolves when no process of the instance serves anything that the purge takes away.
   * @throws SUP_PURGE_FAILED when the store could not follow: no process serves those entries all the same
   */
  async purge(order: PurgeOrder): Promise<PurgeOutcome> {
    const { clock } = this.#options
    const startedAt = clock.monotonic()
    const { purge, workers } = await this.#gate.run(() => this.#tell(order))
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
      tookMs: clock.monotonic() - startedAt,
    }
    this.#options.onDone(purge, outcome)
    return outcome
  }

  /** Resolves when every process has taken note, or is gone. */
  async #tell(order: PurgeOrder): Promise<{ readonly purge: Purge; readonly workers: Acknowledged }> {
    const beginning = this.#beginning.then(() => this.#begin(order))
    this.#beginning = beginning.catch(() => undefined)
    const begun = await beginning
    await begun.hostsDone
    return { purge: begun.purge, workers: await this.#tellWorkers(begun) }
  }

  /** Gives the purge its number and tells the hosts of it in the same turn. */
  async #begin(order: PurgeOrder): Promise<Begun> {
    const number = await this.#options.numbers.next()
    const purge: Purge = { ...order, number }
    this.#unsettled.set(number, { purge, isWithWorkers: false })
    this.#lastOfHosts = number
    const hostsDone = concernsHosts(order) ? askMembers(this.#options.hosts(), purge, this.#options) : Promise.resolve()
    const isSent = deferred<void>()
    const turn = this.#previousSent
    this.#previousSent = isSent.promise
    return { purge, hostsDone, turn, isSent }
  }

  async #tellWorkers({ purge, turn, isSent }: Begun): Promise<Acknowledged> {
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
      throw new SupervisorError('SUP_PURGE_FAILED', 'a store could not follow the purge', { cause: error })
    }
  }

  /** It stays unsettled: every process goes on filtering what it reads from the store. */
  #noteFailed(purge: Purge, error: unknown): void {
    this.#failed.push(purge)
    if (this.#failed.length > MAX_FAILED) void this.#gatherFailed()
    this.#options.logger.error({ purge: purge.number, err: asError(error) }, 'a store could not follow a purge')
  }

  /** The store works: what it did not follow before it may follow now. */
  async #purgeFailed(): Promise<void> {
    for (let purge = this.#failed.shift(); purge !== undefined; purge = this.#failed.shift()) {
      const failed = purge
      const { isr, proxy } = this.#options.stores
      const isDone = await isr
        .purge(failed)
        .then(() => proxy.purge(failed))
        .then(
          () => true,
          () => false,
        )
      if (!isDone) {
        this.#failed.unshift(failed)
        return
      }
      this.#settle(failed)
    }
  }

  /** Whether the store follows the purge of everything or not, the others need not be known beside it. Never rejects. */
  async #gatherFailed(): Promise<void> {
    const failed = this.#failed.splice(0)
    // A failure of the store is logged, and remembered like any other; any other failure means that nobody heard of it.
    const isKnown = await this.purge(EVERYTHING).then(
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
