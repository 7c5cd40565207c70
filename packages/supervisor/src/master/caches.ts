import { join } from 'node:path'
import { EntryStore, ProxyStore, type PurgeOrder } from '@svc/cache'
import type { SiteConfig } from '@svc/config'
import { asError, type Clock, type CloseStack } from '@svc/core'
import type { SupervisorTimings } from '@svc/processes'
import type { GenerationSpec, PurgeOutcome } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import { Leases } from '../leases/leases.ts'
import { PurgeCoordinator } from '../purges/purge-coordinator.ts'
import { PurgeNumbers } from '../purges/purge-numbers.ts'
import { resolveOrder } from '../purges/resolve-order.ts'
import type { RenderHosts } from './render-hosts.ts'
import { StoreUpkeep } from './store-upkeep.ts'

/** Time that a render may take beyond its limit before its lease passes to the next waiter. */
const LEASE_MARGIN_MS = 2_000

/** Workers return leases for upstreams long before this; a worker that does not is stuck. */
const PROXY_LEASE_MS = 60_000

/** Options of the caches of an instance. */
interface CachesOptions {
  readonly spec: () => GenerationSpec
  readonly workers: WorkerFleet
  readonly hosts: RenderHosts
  readonly timings: SupervisorTimings
  readonly clock: Clock
  readonly logger: Logger
  readonly onPurged: (order: PurgeOrder) => void
}

/** The master's side of the caches: the shared store and its upkeep, the order of purges, the leases. */
export class Caches {
  readonly store: EntryStore
  readonly proxy: ProxyStore
  readonly purges: PurgeCoordinator
  readonly leases: Leases
  readonly #options: CachesOptions
  readonly #upkeeps: readonly StoreUpkeep[]

  private constructor({ isr: store, proxy }: Stores, numbers: PurgeNumbers, options: CachesOptions) {
    const { clock, logger, spec, workers, hosts, timings, onPurged } = options
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
      onDone: onPurged,
      ackTimeoutMs: timings.purgeTimeoutMs,
      clock,
      logger,
    })
    this.leases = new Leases({
      clock,
      timeoutMs: (key) => (key.startsWith('proxy\0') ? PROXY_LEASE_MS : spec().config.render.timeout_ms + LEASE_MARGIN_MS),
      onExpired: (key) =>
        logger.warn({ key: key.replaceAll('\u0000', ' ') }, 'lease timed out: a render or a fetch held it for too long'),
    })
  }

  /** Opens the store, before any other process of the instance does, and starts its upkeep. */
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
    if (store.damage !== undefined) logger.warn({ damage: store.damage }, 'the ISR store was damaged; started with an empty one')
    if (store.problem !== undefined) logger.error({ problem: store.problem }, 'the ISR store is unusable; pages are not cached')
    const proxy = await openProxyStore(options, stack)
    const caches = new Caches({ isr: store, proxy }, numbers, options)
    caches.setShares(options.spec().sites)
    stack.push('leases', () => caches.leases.close())
    stack.push('upkeep of the stores', () => caches.#eachUpkeep((upkeep) => upkeep.close()))
    caches.#eachUpkeep((upkeep) => upkeep.start())
    return caches
  }

  /** Reason why a store is unusable or unreliable at the moment; undefined: none is. */
  async trouble(): Promise<string | undefined> {
    return (await this.store.trouble()) ?? (await this.proxy.trouble())
  }

  /** Divides the stores among the sites in service. */
  setShares(sites: readonly SiteConfig[]): void {
    // Responses of upstreams that belong to no site have an empty label.
    const weights = new Map([['', 1], ...sites.map(({ label, cache_weight: weight }) => [label, weight] as const)])
    this.store.setWeights(weights)
    this.proxy.setWeights(weights)
  }

  #eachUpkeep(act: (upkeep: StoreUpkeep) => void): void {
    for (const upkeep of this.#upkeeps) act(upkeep)
  }

  /** Called when a worker has ended. */
  workerEnded(connection: object): void {
    this.leases.holderEnded(connection)
    void this.proxy.files.sweepIncoming()
    this.#eachUpkeep((upkeep) => upkeep.processEnded())
  }

  /** Called when a render host has ended. */
  hostEnded(): void {
    this.#eachUpkeep((upkeep) => upkeep.processEnded())
  }

  /** Purges as ordered; the order may use short forms of tags. */
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
    // Even if the cache is off: a reload may switch it on.
    maxBytes: proxy.max_bytes,
    clock,
    onProblem: (err) => logger.warn({ err }, 'failed to process a file of the proxy cache'),
  })
  stack.push('proxy store', () => store.close())
  if (store.damage !== undefined) logger.warn({ damage: store.damage }, 'the proxy store was damaged; started with an empty one')
  if (store.problem !== undefined) logger.error({ problem: store.problem }, 'the proxy store is unusable; nothing is cached')
  store.sweepFiles().then(
    (swept) => swept > 0 && logger.info({ swept }, 'deleted orphaned files of the proxy cache'),
    (error) => logger.warn({ err: asError(error) }, 'failed to scan the files of the proxy cache'),
  )
  return store
}
