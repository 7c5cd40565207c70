import type { PurgeOrder, PurgeScope } from '@svc/cache'
import type { SiteConfig } from '@svc/config'
import { type Clock, Gate } from '@svc/core'
import type { PoolStatus, PurgeMember, ReachableHost } from '@svc/processes'
import { SupervisorError, type SupervisorTimings, watchHeartbeat } from '@svc/processes'
import type { HostSpec } from '@svc/protocol'
import type { MetricsProcess } from '../metrics/metrics-collector.ts'
import { UnitMetrics } from './unit-metrics.ts'
import type { UnitPeer } from './unit-server.ts'

/** Calls of one unit that run at a time: each may keep the whole instance busy. */
const CALLS_AT_A_TIME = 4
/** A healthy unit never queues this many. */
const MOST_WAITING = 256

/**
 * Checks that a purge order of a site's unit concerns that site alone: the host has bound the names in the site's code to its
 * label, and no other process checks that.
 * @throws SUP_UNIT_REFUSED
 */
export function orderOfSite(order: PurgeOrder, label: string): PurgeOrder {
  const isOwn = (scope: PurgeScope) => {
    if (scope.kind === 'tags') return scope.tags.every((tag) => tag.startsWith(`route:${label}:`))
    return scope.kind === 'pattern' && scope.labels?.length === 1 && scope.labels[0] === label
  }
  if (order.layers.every((layer) => layer === 'isr') && order.scopes.every(isOwn)) return order
  throw new SupervisorError('SUP_UNIT_REFUSED', `a unit of the site labelled "${label}" may purge that site alone`)
}

/** A connected unit of a site. */
export class AttachedUnit implements ReachableHost {
  readonly site: SiteConfig
  readonly pid: number
  readonly peer: UnitPeer
  /** Resolves when the unit has disconnected and workers have stopped sending to it. */
  readonly ended = Promise.withResolvers<void>()
  /** Generation that it serves; 0: none yet. */
  generation = 0
  /** Generation that it has built and can swap to; 0: none since it connected. */
  prepared = 0
  /** True if it got the purges so far, and so gets every later one. */
  isJoined = false
  /** `serving`: workers may send it requests. `leaving`: it has announced its end. */
  state: 'attaching' | 'serving' | 'leaving' = 'attaching'
  /** Number of render hosts that it has had since it connected. */
  hosts = 1
  pools: readonly PoolStatus[] = []
  /** Source of its render host's metrics: a new object for each host, since each counts from zero. */
  measured: MetricsProcess
  stopWatch: () => void = () => undefined
  readonly #calls = new Gate(CALLS_AT_A_TIME)

  constructor(site: SiteConfig, pid: number, peer: UnitPeer) {
    this.site = site
    this.pid = pid
    this.peer = peer
    this.measured = new UnitMetrics(peer)
  }

  /** Lets workers distinguish the render hosts of the unit. */
  get id(): string {
    return `own-${this.site.id}-${this.pid}-${this.hosts}`
  }

  /** Has it build a generation. */
  async prepare(spec: HostSpec, timeoutMs: number): Promise<void> {
    await this.peer.call('prepare', { spec }, { timeoutMs })
    this.prepared = spec.generation
  }

  /** Disconnects it when it stops responding. */
  watch({ pingIntervalMs: intervalMs, pingTimeoutMs }: SupervisorTimings, clock: Clock, onHang: () => void): void {
    this.stopWatch = watchHeartbeat({
      ping: (timeoutMs) => this.peer.call('ping', undefined, { timeoutMs }),
      intervalMs,
      timeoutMs: pingTimeoutMs,
      clock,
      onPong: ({ pools }) => {
        this.pools = pools
      },
      onHang: () => {
        onHang()
        this.peer.close()
      },
    })
  }

  /**
   * Runs the unit's calls, a few at a time.
   * @throws SUP_UNIT_REFUSED when too many wait
   */
  async inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (this.#calls.waiting >= MOST_WAITING)
      throw new SupervisorError('SUP_UNIT_REFUSED', 'too many calls of this unit are waiting')
    return this.#calls.run(task)
  }

  /** The unit as a member of purges. To disconnect it equals killing its process: workers send it nothing, and its host stores nothing. */
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
