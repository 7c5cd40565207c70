import { join } from 'node:path'
import { EntryStore, ProxyStore, type PurgeOrder } from '@svc/cache'
import type { SiteConfig } from '@svc/config'
import { asError, type Clock, type CloseStack } from '@svc/core'
import type { SupervisorTimings } from '@svc/processes'
import type { GenerationSpec, PurgeOutcome } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import { LeaseDesk } from '../leases/lease-desk.ts'
import type { PurgeCounts } from '../metrics/purge-counts.ts'
import { PurgeCoordinator } from '../purges/purge-coordinator.ts'
import { PurgeNumbers } from '../purges/purge-numbers.ts'
import { resolveOrder } from '../purges/resolve-order.ts'
import type { RenderHosts } from './render-hosts.ts'
import { StoreUpkeep } from './store-upkeep.ts'

/** What a render may take over its time before its lease goes to the next who waits. */
const LEASE_MARGIN_MS = 2_000

/** Workers give back what they hold for an upstream long before; one that does not is stuck. */
const PROXY_LEASE_MS = 60_000

/** Options of the caches of an instance. */
interface CachesOptions {
  readonly spec: () => GenerationSpec
  readonly workers: WorkerFleet
  readonly hosts: RenderHosts
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  readonly counts: PurgeCounts
}

/** The caches as the master has them: the shared store and its upkeep, the order of purges, the leases. */
export class Caches {
  readonly store: EntryStore
  readonly proxy: ProxyStore
  readonly purges: PurgeCoordinator
  readonly leases: LeaseDesk
  readonly #options: CachesOptions
  readonly #upkeeps: readonly StoreUpkeep[]

  private constructor({ isr: store, proxy }: Stores, numbers: PurgeNumbers, options: CachesOptions) {
    const { clock, logger, spec, workers, hosts, timings, counts } = options
    this.#options = options
    this.store = store
    this.proxy = proxy
    const { isr, proxy: ofProxy } = spec().config.cache
    const isrBounds = { maxEntries: isr.max_entries, maxBytes: isr.max_bytes }
    const proxyBounds = { maxEntries: Number.POSITIVE_INFINITY, maxBytes: ofProxy.max_bytes }
    this.#upkeeps = [
      new StoreUpkeep({ store, name: 'isr', bounds: isrBounds, clock, logger }),
      new StoreUpkeep({ store: proxy, name: 'proxy', bounds: proxyBounds, clock, logger }),
    ]
    this.purges = new PurgeCoordinator({
      numbers,
      stores: { isr: store, proxy },
      hosts: () => hosts.purgeMembers,
      workers: () => workers.purgeMembers,
      onDone: (purge) => counts.done(purge),
      ackTimeoutMs: timings.purgeTimeoutMs,
      clock,
      logger,
    })
    this.leases = new LeaseDesk({
      clock,
      timeoutMs: (key) => (key.startsWith('proxy\0') ? PROXY_LEASE_MS : spec().config.render.timeout_ms + LEASE_MARGIN_MS),
      onExpired: (key) => logger.warn({ key: key.replaceAll('\u0000', ' ') }, 'a render or a fetch held its lease for too long'),
    })
  }

  /** Opens the store, before any other process of the instance does, and begins its upkeep. */
  static async open(options: CachesOptions, stack: CloseStack): Promise<Caches> {
    const { config } = options.spec()
    const { isr, dir } = config.cache
    const numbers = await PurgeNumbers.open(join(config.server.state_dir, 'purge-number'), options.clock.now())
    const store = await EntryStore.open({
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
    const proxy = await openProxyStore(options, stack)
    const caches = new Caches({ isr: store, proxy }, numbers, options)
    caches.setShares(options.spec().sites)
    stack.push('leases', () => caches.leases.close())
    stack.push('upkeep of the stores', () => caches.#eachUpkeep((upkeep) => upkeep.close()))
    caches.#eachUpkeep((upkeep) => upkeep.start())
    return caches
  }

  /** Why a store cannot be used or relied on at the moment; undefined: they can. */
  async trouble(): Promise<string | undefined> {
    return (await this.store.trouble()) ?? (await this.proxy.trouble())
  }

  /** Shares the stores among the sites in service. */
  setShares(sites: readonly SiteConfig[]): void {
    // Responses of upstreams that belong to no site have an empty label.
    const weights = new Map([['', 1], ...sites.map(({ label, cache_weight: weight }) => [label, weight] as const)])
    this.store.setWeights(weights)
    this.proxy.setWeights(weights)
  }

  #eachUpkeep(act: (upkeep: StoreUpkeep) => void): void {
    for (const upkeep of this.#upkeeps) act(upkeep)
  }

  /** A worker has ended. */
  workerGone(connection: object): void {
    this.leases.gone(connection)
    void this.proxy.files.sweepIncoming()
    this.#eachUpkeep((upkeep) => upkeep.processEnded())
  }

  /** A render host has ended. */
  hostGone(): void {
    this.#eachUpkeep((upkeep) => upkeep.processEnded())
  }

  /** Carries out an order, which may name tags in their short forms. */
  purge(order: PurgeOrder): Promise<PurgeOutcome> {
    const labels = this.#options.spec().sites.map(({ label }) => label)
    return this.purges.purge(resolveOrder(order, labels))
  }
}

/** The stores that all processes of an instance share. */
interface Stores {
  readonly isr: EntryStore
  readonly proxy: ProxyStore
}

async function openProxyStore({ spec, clock, logger }: CachesOptions, stack: CloseStack): Promise<ProxyStore> {
  const { proxy, dir } = spec().config.cache
  const store = await ProxyStore.open({
    cacheDir: dir,
    // Also where the cache is off: a reload may switch it on.
    maxBytes: proxy.max_bytes,
    clock,
    onProblem: (err) => logger.warn({ err }, 'a file of the proxy cache could not be dealt with'),
  })
  stack.push('proxy store', () => store.close())
  if (store.damage !== undefined) logger.warn({ damage: store.damage }, 'the proxy store was damaged; a new one was begun')
  if (store.problem !== undefined) logger.error({ problem: store.problem }, 'the proxy store cannot be used; nothing is kept')
  store.sweepFiles().then(
    (swept) => swept > 0 && logger.info({ swept }, 'files of the proxy cache that belonged to nothing were deleted'),
    (error) => logger.warn({ err: asError(error) }, 'the files of the proxy cache could not be looked through'),
  )
  return store
}
