import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asError, type Clock, type CloseStack, codeOf } from '@svc/core'
import type { GenerationSpec } from '@svc/protocol'
import type { RedisClient } from '@svc/redis'
import type { InstanceFigures, Logger } from '@svc/telemetry'
import type { PurgeCoordinator } from '../purges/purge-coordinator.ts'
import { DeferredOrders } from './deferred-orders.ts'
import type { InstanceRedis } from './instance-redis.ts'
import { InstanceRegistry } from './instance-registry.ts'
import { PurgePublisher } from './purge-publisher.ts'
import { PurgeSubscriber } from './purge-subscriber.ts'
import { type OwnRevocations, SharedRevocations } from './shared-revocations.ts'

interface InstancesOptions {
  readonly spec: () => GenerationSpec
  readonly purges: PurgeCoordinator
  readonly revocations: OwnRevocations
  readonly clock: Clock
  readonly logger: Logger
}

/** How long a start waits for Redis. */
const START_MS = 2_000

/** The other instances that share the Redis of `redis.url`: purges and ended sessions go to them, and come from them. */
export class Instances {
  readonly publisher: PurgePublisher
  readonly revocations: SharedRevocations
  readonly #redis: RedisClient
  readonly #registry: InstanceRegistry
  readonly #subscriber: PurgeSubscriber

  private constructor(
    redis: RedisClient,
    state: { deferred: DeferredOrders; last: string | undefined },
    options: InstancesOptions,
  ) {
    const { spec, purges, clock, logger } = options
    const { config } = spec()
    const common = { redis, prefix: config.redis.key_prefix, self: config.scaling.instance_id, clock, logger }
    this.#redis = redis
    this.#registry = new InstanceRegistry(common)
    this.publisher = new PurgePublisher({
      ...common,
      registry: this.#registry,
      deferred: state.deferred,
      // Responses of upstreams that belong to no site have an empty label.
      labels: () => ['', ...spec().sites.map(({ label }) => label)],
      closeSharedCache: () => purges.closeSharedCache(),
    })
    this.revocations = new SharedRevocations({ ...common, own: options.revocations })
    this.#subscriber = new PurgeSubscriber({
      ...common,
      file: placeFile(config.server.state_dir),
      last: state.last,
      purge: (order) => purges.purgeHere(order),
      confirm: (id, from) => this.#registry.confirm(id, from),
      lastSent: () => this.publisher.last,
      emptySharedCache: () => this.publisher.emptySharedCache(),
    })
  }

  /** Begins to connect to Redis. Undefined: no `redis.url` is set. */
  static async open(options: InstancesOptions, stack: CloseStack): Promise<Instances | undefined> {
    const { spec, clock, logger } = options
    const { redis, scaling, server } = spec().config
    if (redis.url === undefined) return undefined
    const deferred = await DeferredOrders.open(join(server.state_dir, 'deferred-purges.jsonl'))
    const last = await readPlace(server.state_dir, logger)
    // Loaded here: most servers have no Redis, and start faster without it.
    const { RedisClient } = await import('@svc/redis')
    const client = new RedisClient({
      url: redis.url,
      connections: 1,
      name: `svc ${scaling.instance_id}`,
      clock,
      onChange: ({ problem }) => {
        if (stack.isClosing) return
        if (problem === undefined) {
          logger.info('Redis is available')
          void instances.revocations.compare()
        } else logger.warn({ problem }, 'Redis is not available: this instance goes on without the others')
      },
    })
    const instances = new Instances(client, { deferred, last }, options)
    stack.push('Redis', () => instances.#close())
    return instances
  }

  /**
   * Joins the other instances, and carries out the purges that this one has missed. To be called before any process of the
   * instance serves. Goes on without the others where Redis is away.
   */
  async join(): Promise<void> {
    await this.#redis.ready(START_MS)
    await Promise.all([this.#registry.start(), this.revocations.start()])
    await this.publisher.start()
    await this.#subscriber.start()
  }

  /** Why Redis is not usable; undefined: it is. */
  get problem(): string | undefined {
    return this.#redis.problem
  }

  /** For scripts on what the instances share. */
  get commands(): Pick<InstanceRedis, 'isUsable' | 'script' | 'command'> {
    return this.#redis
  }

  get figures(): InstanceFigures {
    const { isUsable, counts } = this.#redis
    const { deferred } = this.publisher
    return { isRedisUp: isUsable, instances: this.#registry.count, deferredPurges: deferred, commands: counts }
  }

  async #close(): Promise<void> {
    this.publisher.close()
    this.revocations.close()
    await this.#subscriber.close()
    await this.#registry.close()
    this.#redis.close()
  }
}

function placeFile(stateDir: string): string {
  return join(stateDir, 'purge-stream')
}

async function readPlace(stateDir: string, logger: Logger): Promise<string | undefined> {
  try {
    const text = (await readFile(placeFile(stateDir), 'utf8')).trim()
    return /^\d+-\d+$/.test(text) ? text : undefined
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') logger.warn({ err: asError(error) }, 'failed to read the place in the stream of purges')
    return undefined
  }
}
