import { join } from 'node:path'
import { EntryStore, PROXY_LEASE_KIND, ProxyStore, type PurgeOrder } from '@svc/cache'
import type { SiteConfig } from '@svc/config'
import { asError, type Clock, type CloseStack } from '@svc/core'
import type { SupervisorTimings } from '@svc/processes'
import type { GenerationSpec, PurgeOutcome } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import { Instances } from '../instances/instances.ts'
import type { OwnRevocations } from '../instances/shared-revocations.ts'
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
  /** Ended sessions go to the instances that share Redis, too. */
  readonly revocations: OwnRevocations
  readonly onPurged: (order: PurgeOrder) => void
}

/** The master's side of the caches: the shared store and its upkeep, the order of purges, the leases. */
export class Caches {
  readonly store: EntryStore
  readonly proxy: EntryStore
  readonly purges: PurgeCoordinator
  readonly leases: Leases
  readonly #options: CachesOptions
  readonly #bodies: ProxyStore['files']
  #instances: Instances | undefined
  readonly #upkeeps: readonly StoreUpkeep[]

  private constructor(store: EntryStore, proxies: ProxyStore, numbers: PurgeNumbers, options: CachesOptions) {
    const { clock, logger, spec, workers, hosts, timings, onPurged } = options
    const proxy = proxies.entries
    this.#options = options
    this.#bodies = proxies.files
    this.store = store
    this.proxy = proxy
    const { isr, proxy: ofProxy } = spec().config.cache
    const isrBounds = { maxEntries: isr.max_entries, maxBytes: isr.max_bytes }
    const proxyBounds = { maxEntries: Number.POSITIVE_INFINITY, maxBytes: ofProxy.max_bytes }
    this.#upkeeps = [
      new StoreUpkeep({ room: store.room, name: 'isr', bounds: isrBounds, clock, logger }),
      new StoreUpkeep({ room: proxy.room, name: 'proxy', bounds: proxyBounds, clock, logger }),
    ]
    this.purges = new PurgeCoordinator({
      numbers,
      stores: { isr: store, proxy },
      hosts: () => hosts.purgeMembers,
      workers: () => workers.joined.purgeMembers,
      onDone: onPurged,
      publisher: () => this.#instances?.publisher,
      ackTimeoutMs: timings.purgeTimeoutMs,
      clock,
      logger,
    })
    this.leases = new Leases({
      clock,
      timeoutMs: (key) =>
        key.startsWith(`${PROXY_LEASE_KIND}\0`) ? PROXY_LEASE_MS : spec().config.render.timeout_ms + LEASE_MARGIN_MS,
      onExpired: (key) =>
        logger.warn({ key: key.replaceAll('\u0000', ' ') }, 'lease timed out: a render or a fetch held it for too long'),
    })
  }

  /** Opens the stores, before any other process of the instance does, and starts their upkeep. */
  static async open(options: CachesOptions, stack: CloseStack): Promise<Caches> {
    const { spec, clock } = options
    const { config, sites } = spec()
    const { isr, dir: cacheDir } = config.cache
    const numbers = await PurgeNumbers.open(join(config.server.state_dir, 'purge-number'), clock.now())
    const bounds = { maxEntries: isr.max_entries, maxBytes: isr.max_bytes, graceMs: isr.default_swr_ms }
    const store = await EntryStore.open({ cacheDir, ...bounds, clock })
    keep('ISR', store, options, stack)
    const caches = new Caches(store, await openProxyStore(options, stack), numbers, options)
    caches.setShares(sites)
    stack.push('leases', () => caches.leases.close())
    stack.push('upkeep of the stores', () => caches.#eachUpkeep((upkeep) => upkeep.close()))
    caches.#eachUpkeep((upkeep) => upkeep.start())
    const { logger, revocations } = options
    caches.#instances = await Instances.open({ spec, purges: caches.purges, revocations, clock, logger }, stack)
    return caches
  }

  /** Reason why a store is unusable or unreliable at the moment; undefined: none is. */
  async trouble(): Promise<string | undefined> {
    return (await this.store.trouble()) ?? (await this.proxy.trouble())
  }

  /** The instances that share a Redis; undefined: no `redis.url` is set. */
  get instances(): Instances | undefined {
    return this.#instances
  }

  /** Divides the stores among the sites in service. */
  setShares(sites: readonly SiteConfig[]): void {
    // Responses of upstreams that belong to no site have an empty label.
    const weights = new Map([['', 1], ...sites.map(({ label, cache_weight: weight }) => [label, weight] as const)])
    this.store.room.setWeights(weights)
    this.proxy.room.setWeights(weights)
  }

  #eachUpkeep(act: (upkeep: StoreUpkeep) => void): void {
    for (const upkeep of this.#upkeeps) act(upkeep)
  }

  /** Called when a worker has ended. */
  workerEnded(connection: object): void {
    this.leases.holderEnded(connection)
    void this.#bodies.sweepIncoming()
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

/** Has a store closed at the end, and logs if it is not as it was left. */
function keep(name: string, store: EntryStore, { logger }: CachesOptions, stack: CloseStack): void {
  const { damage, problem } = store
  stack.push(`${name} store`, () => store.close())
  if (damage !== undefined) logger.warn({ damage }, `the ${name} store was damaged; started with an empty one`)
  if (problem !== undefined) logger.error({ problem }, `the ${name} store is unusable; nothing is cached in it`)
}

async function openProxyStore(options: CachesOptions, stack: CloseStack): Promise<ProxyStore> {
  const { spec, clock, logger } = options
  const { proxy, dir } = spec().config.cache
  const store = await ProxyStore.open({
    cacheDir: dir,
    // Even if the cache is off: a reload may switch it on.
    maxBytes: proxy.max_bytes,
    clock,
    onProblem: (err) => logger.warn({ err }, 'failed to process a file of the proxy cache'),
  })
  keep('proxy', store.entries, options, stack)
  store.sweepFiles().then(
    (swept) => swept > 0 && logger.info({ swept }, 'deleted orphaned files of the proxy cache'),
    (error) => logger.warn({ err: asError(error) }, 'failed to scan the files of the proxy cache'),
  )
  return store
}
