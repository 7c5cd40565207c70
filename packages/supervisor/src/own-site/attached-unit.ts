import type { SiteConfig } from '@svc/config'
import { deferred, Gate } from '@svc/core'
import type { PoolStatus, PurgeMember, ReachableHost } from '@svc/processes'
import { SupervisorError } from '@svc/processes'
import type { MetricsProcess } from '../metrics/metrics-collector.ts'
import type { UnitPeer } from './unit-server.ts'

/** Calls of one unit that are carried out at a time: each may keep the whole instance busy. */
const CALLS_AT_A_TIME = 4
/** A unit that is well never has so many before it. */
const MOST_WAITING = 256

/** The unit of a site while it is connected. */
export class AttachedUnit implements ReachableHost {
  readonly site: SiteConfig
  readonly pid: number
  readonly peer: UnitPeer
  /** Settles when the unit is gone and no worker sends anything to it any more. */
  readonly ended = deferred<void>()
  /** Generation that it serves; 0: none yet. */
  generation = 0
  /** Generation that it has built and can swap to; 0: none since it is connected. */
  prepared = 0
  /** Whether it was told of the purges so far, and so hears of those that follow. */
  isJoined = false
  /** `serving`: workers may send it requests. `leaving`: it has said that it ends. */
  state: 'attaching' | 'serving' | 'leaving' = 'attaching'
  /** Counts the render hosts that it has had since it is connected. */
  hosts = 1
  pools: readonly PoolStatus[] = []
  /** Its render host, as metrics are asked of it: another one with each host, since each counts from nothing. */
  measured: MetricsProcess
  stopWatch: () => void = () => undefined
  readonly #calls = new Gate(CALLS_AT_A_TIME)

  constructor(site: SiteConfig, pid: number, peer: UnitPeer) {
    this.site = site
    this.pid = pid
    this.peer = peer
    this.measured = { peer }
  }

  /** Tells workers one render host of the unit from the next. */
  get id(): string {
    return `own-${this.site.id}-${this.pid}-${this.hosts}`
  }

  /**
   * Carries out what the unit asks for, a few calls at a time.
   * @throws SUP_UNIT_REFUSED when too many wait
   */
  async inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (this.#calls.waiting >= MOST_WAITING)
      throw new SupervisorError('SUP_UNIT_REFUSED', 'too many calls of this unit are waiting')
    return this.#calls.run(task)
  }

  /** As it takes part in purges. To be without it is to have its process killed: workers send it nothing, and its host keeps nothing. */
  get purgeMember(): PurgeMember {
    return {
      name: `unit of ${this.site.id}`,
      isBooting: this.generation === 0,
      purge: async (purge) => {
        await this.peer.call('purge', { purge }, { timeoutMs: Number.POSITIVE_INFINITY })
        return 0
      },
      settled: (number) => this.peer.notify('purgeSettled', { number }),
      kill: () => this.peer.close(),
      exited: this.ended.promise,
    }
  }
}
