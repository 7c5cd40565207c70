import type { SharedScript } from '@svc/cache'
import type { Clock } from '@svc/core'
import type { InstanceRedis } from './instance-redis.ts'

interface InstanceRegistryOptions {
  readonly redis: InstanceRedis
  /** `redis.key_prefix` */
  readonly prefix: string
  /** `scaling.instance_id` */
  readonly self: string
  readonly clock: Pick<Clock, 'after'>
}

const HEARTBEAT_MS = 2_000
/** An instance without a heartbeat for this long is not waited for. */
const ALIVE_MS = 7_000
/** Words that instances send each other, beside the ids of purges. */
const JOINED = 'joined'
const LEFT = 'left'
/** How long a purge waits for the other instances to confirm it. */
const CONFIRM_MS = 200

/** Past this, the heartbeats are those of another program. */
const MAX_INSTANCES = 1_000
const MAX_NAME_BYTES = 1_000

/** KEYS: the heartbeats. ARGV: the instance, milliseconds after which one is not alive. Replies the names of those that are. */
const HEARTBEAT: SharedScript = {
  name: 'svcHeartbeat',
  lua: `#!lua flags=allow-oom
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' or redis.call('HLEN', KEYS[1]) > ${MAX_INSTANCES} then redis.call('UNLINK', KEYS[1]) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now))
local all = redis.call('HGETALL', KEYS[1])
local alive = {}
for i = 1, #all, 2 do
  local at = tonumber(all[i + 1])
  if at and math.abs(now - at) <= tonumber(ARGV[2]) and #all[i] <= ${MAX_NAME_BYTES} then alive[#alive + 1] = all[i]
  else redis.call('HDEL', KEYS[1], all[i]) end
end
redis.call('PEXPIRE', KEYS[1], 60000)
return alive
`,
}

/** How many of the instances that are known have carried out a purge, with this one. */
interface Confirmations {
  readonly acked: number
  readonly known: number
}

interface Pending {
  readonly waiting: Set<string>
  acked: number
  readonly done: PromiseWithResolvers<void>
}

/** The instances that share a Redis: which of them are alive, and which have carried out a purge. */
export class InstanceRegistry {
  readonly #options: InstanceRegistryOptions
  /** Without this one. */
  #others: ReadonlySet<string> = new Set()
  /** By the id of the purge in the stream. */
  readonly #pending = new Map<string, Pending>()
  #cancelHeartbeat: (() => void) | undefined
  #unsubscribe: (() => void) | undefined
  #isClosed = false

  constructor(options: InstanceRegistryOptions) {
    this.#options = options
  }

  /** Resolves after the first heartbeat, or when Redis did not answer it. */
  async start(): Promise<void> {
    const { redis, self } = this.#options
    this.#unsubscribe = redis.subscribe(this.#channelOf(self), (message) => this.#received(message))
    await this.#beat()
    await this.#tellAll(JOINED)
  }

  /**
   * Expects the other instances to confirm a purge: to be called before it is sent to them.
   * @returns waits for them, for a bounded time; never rejects
   */
  expect(id: string): () => Promise<Confirmations> {
    const known = this.count
    const pending: Pending = { waiting: new Set(this.#others), acked: 1, done: Promise.withResolvers() }
    this.#pending.set(id, pending)
    if (pending.waiting.size === 0) pending.done.resolve()
    return async () => {
      const cancel = this.#options.clock.after(CONFIRM_MS, () => pending.done.resolve())
      await pending.done.promise
      cancel()
      this.#pending.delete(id)
      return { acked: pending.acked, known }
    }
  }

  /** Instances that are alive, with this one. */
  get count(): number {
    return this.#others.size + 1
  }

  /** Of a purge that did not reach Redis. */
  get unconfirmed(): Confirmations {
    return { acked: 1, known: this.count }
  }

  /** Tells the instance that has sent a purge that this one has carried it out. Never rejects. */
  confirm(id: string, from: string): Promise<void> {
    return this.#tell(from, id)
  }

  /** Leaves: others do not wait for this instance any more. Never rejects. */
  async close(): Promise<void> {
    const { redis, prefix, self } = this.#options
    this.#isClosed = true
    this.#cancelHeartbeat?.()
    this.#unsubscribe?.()
    await redis.command('HDEL', [`${prefix}instances`, self]).catch(() => undefined)
    await this.#tellAll(LEFT)
  }

  async #tell(name: string, word: string): Promise<void> {
    const { redis, self } = this.#options
    await redis.command('PUBLISH', [this.#channelOf(name), `${word} ${self}`]).catch(() => undefined)
  }

  async #tellAll(word: string): Promise<void> {
    await Promise.all(Array.from(this.#others, (name) => this.#tell(name, word)))
  }

  /** Each instance has a channel: what it alone must know wakes no other one. */
  #channelOf(name: string): string {
    return `${this.#options.prefix}instances:${name}`
  }

  /** A message is a word or the id of a purge, and the name of an instance. */
  #received(message: string): void {
    const space = message.indexOf(' ')
    const word = message.slice(0, space)
    const name = message.slice(space + 1)
    if (name === this.#options.self) return
    if (word === JOINED) this.#others = new Set([...this.#others, name])
    else if (word === LEFT) this.#others = new Set([...this.#others].filter((other) => other !== name))
    else this.#confirmed(word, name)
  }

  #confirmed(id: string, name: string): void {
    const pending = this.#pending.get(id)
    if (pending?.waiting.delete(name) !== true) return
    pending.acked++
    if (pending.waiting.size === 0) pending.done.resolve()
  }

  async #beat(): Promise<void> {
    const { redis, prefix, self, clock } = this.#options
    try {
      const alive = await redis.script(HEARTBEAT, [`${prefix}instances`], [self, String(ALIVE_MS)])
      if (Array.isArray(alive)) this.#others = new Set(alive.map(String).filter((name) => name !== self))
    } catch {
      // The connection counts and reports it. The instances of before are still waited for.
    }
    if (!this.#isClosed) this.#cancelHeartbeat = clock.after(HEARTBEAT_MS, () => void this.#beat())
  }
}
