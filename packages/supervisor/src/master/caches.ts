import { join } from 'node:path'
import { IsrStore, type PurgeOrder } from '@svc/cache'
import type { Clock, CloseStack } from '@svc/core'
import type { GenerationSpec, PurgeOutcome } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { HostFleet } from '../fleet/host-fleet.ts'
import type { SupervisorTimings } from '../fleet/timings.ts'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import { LeaseDesk } from '../leases/lease-desk.ts'
import type { PurgeCounts } from '../metrics/purge-counts.ts'
import { PurgeCoordinator } from '../purges/purge-coordinator.ts'
import { PurgeNumbers } from '../purges/purge-numbers.ts'
import { resolveOrder } from '../purges/resolve-order.ts'
import { StoreUpkeep } from './store-upkeep.ts'

/** What a render may take over its time before its lease goes to the next who waits. */
const LEASE_MARGIN_MS = 2_000

/** What the caches of an instance are made with. The fleets exist by the time that anything is asked of them. */
export interface CachesOptions {
  readonly spec: () => GenerationSpec
  readonly fleets: () => { readonly workers: WorkerFleet; readonly hosts: HostFleet }
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  readonly counts: PurgeCounts
}

/** The caches as the master has them: the shared store and its upkeep, the order of purges, the leases. */
export class Caches {
  readonly store: IsrStore
  readonly purges: PurgeCoordinator
  readonly leases: LeaseDesk
  readonly #options: CachesOptions
  readonly #upkeep: StoreUpkeep

  private constructor(store: IsrStore, numbers: PurgeNumbers, options: CachesOptions) {
    const { clock, logger, spec, fleets, timings, counts } = options
    this.#options = options
    this.store = store
    this.#upkeep = new StoreUpkeep(store, clock, logger)
    this.purges = new PurgeCoordinator({
      numbers,
      store,
      hosts: () => fleets().hosts.purgeMembers,
      workers: () => fleets().workers.purgeMembers,
      onDone: (purge) => counts.done(purge),
      ackTimeoutMs: timings.purgeTimeoutMs,
      clock,
      logger,
    })
    this.leases = new LeaseDesk({
      clock,
      timeoutMs: () => spec().config.render.timeout_ms + LEASE_MARGIN_MS,
      onExpired: (key) => logger.warn({ key: key.replaceAll('\u0000', ' ') }, 'a render held its lease for too long'),
    })
  }

  /** Opens the store, before any other process of the instance does, and begins its upkeep. */
  static async open(options: CachesOptions, stack: CloseStack): Promise<Caches> {
    const { config } = options.spec()
    const { isr, dir } = config.cache
    const numbers = await PurgeNumbers.open(join(config.server.state_dir, 'purge-number'), options.clock.now())
    const store = await IsrStore.open({
      cacheDir: dir,
      maxEntries: isr.max_entries,
      maxBytes: isr.max_bytes,
      graceMs: isr.default_swr_ms,
      clock: options.clock,
    })
    stack.push('ISR store', () => store.close())
    const { logger } = options
    if (store.damage !== undefined) logger.warn({ damage: store.damage }, 'the ISR store was damaged; a new one was begun')
    if (store.problem !== undefined) logger.error({ problem: store.problem }, 'the ISR store cannot be used; pages are not kept')
    const caches = new Caches(store, numbers, options)
    stack.push('leases', () => caches.leases.close())
    stack.push('upkeep of the ISR store', () => caches.#upkeep.close())
    caches.#upkeep.start()
    return caches
  }

  /** Why the store cannot be used or relied on at the moment; undefined: it can. */
  trouble(): Promise<string | undefined> {
    return this.store.trouble()
  }

  /** A worker has ended. */
  workerGone(connection: object): void {
    this.leases.gone(connection)
    this.#upkeep.processEnded()
  }

  /** A render host has ended. */
  hostGone(): void {
    this.#upkeep.processEnded()
  }

  /** Carries out an order, which may name tags in their short forms. */
  purge(order: PurgeOrder): Promise<PurgeOutcome> {
    const labels = this.#options.spec().sites.map(({ label }) => label)
    return this.purges.purge(resolveOrder(order, labels))
  }
}
