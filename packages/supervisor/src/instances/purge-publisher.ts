import { randomUUID } from 'node:crypto'
import { EVERYTHING, PURGE, type PurgeOrder, type PurgeTarget, purgeTargets } from '@svc/cache'
import { asError, type Clock, messageOf } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import type { Published } from '../purges/purge-coordinator.ts'
import type { DeferredOrders } from './deferred-orders.ts'
import type { InstanceRedis } from './instance-redis.ts'
import type { InstanceRegistry } from './instance-registry.ts'
import { addToStream, PURGE_DEADLINE_MS } from './purge-stream.ts'

interface PurgePublisherOptions {
  readonly redis: InstanceRedis
  /** `redis.key_prefix` */
  readonly prefix: string
  /** `scaling.instance_id` */
  readonly self: string
  /** Labels of all sites of the instance. */
  readonly labels: () => Iterable<string>
  readonly registry: InstanceRegistry
  readonly deferred: DeferredOrders
  /** Has all processes leave the shared cache alone. Resolves, when they do, with the function that ends that. */
  readonly closeSharedCache: () => Promise<() => void>
  readonly clock: Pick<Clock, 'after'>
  readonly logger: Logger
}

const RETRY_MS = 500
/** A script for more of them would keep Redis busy for too long. */
const MAX_TARGETS = 100

/** Brings the purges of this instance to the shared cache and to the other instances, in their order; later, if Redis is away. */
export class PurgePublisher {
  readonly #options: PurgePublisherOptions
  #reopen: (() => void) | undefined
  #closing: Promise<void> | undefined
  #cancelRetry: (() => void) | undefined
  #isClosed = false
  /** One script raises versions and adds the order. */
  #isOneStep = true
  #last: string | undefined

  constructor(options: PurgePublisherOptions) {
    this.#options = options
  }

  /** Goes on with the purges that an earlier master could not send. To be called before any process serves. */
  async start(): Promise<void> {
    if (this.#options.deferred.size === 0) return
    await this.#closeSharedCache()
    await this.#sendDeferred()
  }

  /** Publishes a purge before the instance itself carries it out. Never rejects. */
  async publish(order: PurgeOrder): Promise<Published> {
    const { registry, deferred } = this.#options
    if (deferred.size > 0) return this.#defer(order)
    const id = randomUUID()
    const confirmed = registry.expect(id)
    try {
      await this.#send(order, id)
      return { l2: 'purged', confirmed }
    } catch {
      void confirmed()
      return this.#defer(order)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#cancelRetry?.()
  }

  /** Purges that wait for Redis. */
  get deferred(): number {
    return this.#options.deferred.size
  }

  /** Place in the stream of the last purge of this instance; undefined: it has sent none. */
  get last(): string | undefined {
    return this.#last
  }

  /**
   * Makes all entries of the shared cache old: Redis has lost purges, as when a replica takes the place of its master.
   * Rejects if Redis is away.
   */
  async emptySharedCache(): Promise<void> {
    await this.#raise(this.#targets(EVERYTHING))
  }

  async #send(order: PurgeOrder, id: string): Promise<void> {
    const targets = this.#targets(order)
    const { redis } = this.#options
    if (this.#isOneStep && !redis.isCluster && targets.length <= MAX_TARGETS) {
      try {
        await this.#add(order, id, targets)
        return
      } catch (error) {
        if (!messageOf(error).includes('CROSSSLOT')) throw error
        // A node or a proxy of a cluster under a single address.
        this.#isOneStep = false
      }
    }
    // The versions first: an instance that has read the order finds no older entry in the shared cache.
    await this.#raise(targets)
    await this.#add(order, id, [])
  }

  async #add(order: PurgeOrder, id: string, targets: readonly PurgeTarget[]): Promise<void> {
    const { redis, prefix, self } = this.#options
    this.#last = await addToStream(redis, prefix, { id, from: self, order }, targets)
  }

  async #raise(targets: readonly PurgeTarget[]): Promise<void> {
    const { redis } = this.#options
    await Promise.all(targets.map(({ key, digests }) => redis.script(PURGE, [key], digests ?? [], PURGE_DEADLINE_MS)))
  }

  #targets(order: PurgeOrder): PurgeTarget[] {
    const { prefix, labels } = this.#options
    return purgeTargets(order, prefix, labels())
  }

  async #defer(order: PurgeOrder): Promise<Published> {
    const { deferred, registry, logger } = this.#options
    await this.#closeSharedCache()
    await deferred
      .add(order)
      .catch((error: unknown) =>
        logger.error({ err: asError(error) }, 'failed to save a purge for the other instances: a restart would lose it'),
      )
    this.#retry()
    return { l2: 'deferred', confirmed: async () => registry.unconfirmed }
  }

  /** Resolves when no process of the instance uses the shared cache. */
  #closeSharedCache(): Promise<void> {
    this.#closing ??= this.#options.closeSharedCache().then((reopen) => {
      this.#reopen = reopen
      this.#options.logger.warn('purges cannot reach Redis: the shared cache is not used until they have')
    })
    return this.#closing
  }

  #retry(): void {
    if (this.#isClosed || this.#cancelRetry !== undefined) return
    this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => {
      this.#cancelRetry = undefined
      void this.#sendDeferred()
    })
  }

  /** Sends the deferred purges, the oldest first. Never rejects. */
  async #sendDeferred(): Promise<void> {
    const { deferred, logger } = this.#options
    try {
      for (let order = deferred.first; order !== undefined; order = deferred.first) {
        await this.#send(order, randomUUID())
        await deferred.shift()
      }
    } catch {
      this.#retry()
      return
    }
    logger.info('deferred purges have reached Redis: the shared cache is in use again')
    this.#reopen?.()
    this.#reopen = undefined
    this.#closing = undefined
  }
}
