import { hash } from 'node:crypto'
import { asError, type Clock, messageOf, withDeadline } from '@svc/core'
import { Circuit } from './circuit.ts'
import { BLOCKING, COMMANDS, type Connection, connect } from './connections.ts'
import { RedisError } from './errors/errors.ts'
import { parseRedisUrl, type RedisAddress } from './redis-url.ts'
import { Subscription } from './subscription.ts'

/** A Lua script. Its name appears in errors. */
interface RedisScript {
  readonly name: string
  readonly lua: string
}

/** Counts since the client was made. */
interface RedisCounts {
  /** Commands that were answered. */
  ok: number
  /** Commands that Redis answered with an error. */
  refused: number
  /** Commands whose reply did not come in time. */
  late: number
  /** Commands that were not sent, or whose connection was lost. */
  unavailable: number
}

interface RedisClientOptions {
  /** See `parseRedisUrl`. */
  readonly url: string
  /** Connections for commands; a cluster has one for each node. */
  readonly connections: number
  /** Shown by `CLIENT LIST`. */
  readonly name: string
  readonly clock: Pick<Clock, 'after'>
  /** Milliseconds that a command may take, unless the caller says otherwise. @default 100 */
  readonly deadlineMs?: number
  /** Redis became usable, or no longer is. */
  readonly onChange?: (client: RedisClient) => void
}

type Argument = string | Buffer

const DEADLINE_MS = 100
/** Commands in flight on all connections: past them commands fail at once. */
const MAX_IN_FLIGHT = 5_000

/**
 * A Redis that may fail at any time. A command that Redis does not answer in time is rejected, never queued for later; after
 * some failures in a row all are rejected at once until Redis answers again. Bulk replies are buffers.
 */
export class RedisClient {
  readonly counts: RedisCounts = { ok: 0, refused: 0, late: 0, unavailable: 0 }
  readonly #options: RedisClientOptions
  readonly #address: RedisAddress
  readonly #deadlineMs: number
  readonly #connections: readonly Connection[]
  readonly #others = new Set<Connection>()
  readonly #subscriptions = new Set<Subscription>()
  readonly #circuit: Circuit
  readonly #digests = new WeakMap<RedisScript, string>()
  #next = 0
  #inFlight = 0
  #wasUsable = false
  #problem = 'not connected yet'

  /** @throws REDIS_BAD_URL */
  constructor(options: RedisClientOptions) {
    this.#options = options
    this.#address = parseRedisUrl(options.url)
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS
    const count = this.#address.kind === 'cluster' ? 1 : options.connections
    this.#connections = Array.from({ length: count }, () => this.#connect())
    const probe = async () => this.#answered(this.#connection().call('PING'), this.#deadlineMs)
    this.#circuit = new Circuit(options.clock, probe, () => this.#changed())
  }

  /** Keys lie on several nodes. */
  get isCluster(): boolean {
    return this.#address.kind === 'cluster'
  }

  /** True if commands are sent. */
  get isUsable(): boolean {
    return !this.#circuit.isOpen && this.#connections.some(isReady)
  }

  /** Why Redis is not usable; undefined: it is. */
  get problem(): string | undefined {
    return this.isUsable ? undefined : this.#problem
  }

  /** Resolves when Redis is usable, or after the time. */
  async ready(timeoutMs: number): Promise<void> {
    if (this.isUsable) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(timeoutMs, resolve)
    for (const connection of this.#connections) connection.once('ready', () => resolve())
    await promise
    cancel()
  }

  /** @throws RedisError */
  command(name: string, args: readonly Argument[], deadlineMs?: number): Promise<unknown> {
    return this.#send((connection) => connection.callBuffer(name, [...args]), deadlineMs)
  }

  /**
   * Runs a script on keys that lie in one slot.
   * @throws RedisError
   */
  script(script: RedisScript, keys: readonly string[], args: readonly Argument[], deadlineMs?: number): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args]
    return this.#send(async (connection) => {
      try {
        return await connection.callBuffer('EVALSHA', [this.#digestOf(script), ...rest])
      } catch (error) {
        // Redis forgets scripts when it restarts.
        if (!messageOf(error).startsWith('NOSCRIPT')) throw error
        return await connection.callBuffer('EVAL', [script.lua, ...rest])
      }
    }, deadlineMs)
  }

  /**
   * Opens a connection for commands that wait in Redis. It is not opened again when it is lost.
   * @throws RedisError
   */
  async open(timeoutMs = 2_000): Promise<BlockingConnection> {
    const connection = connect(this.#address, BLOCKING, this.#options.name)
    this.#others.add(connection)
    connection.on('error', () => undefined)
    connection.once('end', () => this.#others.delete(connection))
    try {
      await withDeadline(readiness(connection), timeoutMs, 'connecting to Redis')
      return new BlockingConnection(connection)
    } catch (error) {
      connection.disconnect()
      throw new RedisError('REDIS_UNAVAILABLE', `no connection to Redis: ${messageOf(error)}`, { cause: error })
    }
  }

  /**
   * Receives the messages of a channel as long as Redis is there. Returns how to stop.
   * @param onSubscribed messages come from now on: at the beginning, and after each loss
   */
  subscribe(channel: string, onMessage: (message: string) => void, onSubscribed: () => void = () => undefined): () => void {
    const { name, clock } = this.#options
    const onLost = (error: Error) => this.#lost(error)
    const subscription = new Subscription({ address: this.#address, name, channel, onMessage, onSubscribed, onLost, clock })
    this.#subscriptions.add(subscription)
    return () => {
      this.#subscriptions.delete(subscription)
      subscription.close()
    }
  }

  close(): void {
    this.#circuit.close()
    for (const subscription of this.#subscriptions) subscription.close()
    for (const connection of [...this.#connections, ...this.#others]) connection.disconnect()
  }

  #connect(): Connection {
    const connection = connect(this.#address, COMMANDS, this.#options.name)
    connection.on('error', (error: Error) => this.#lost(error))
    connection.on('ready', () => {
      // The reason, if it is lost without an error.
      this.#problem = 'it has closed the connection'
      this.#changed()
    })
    connection.on('close', () => this.#changed())
    return connection
  }

  async #send(run: (connection: Connection) => Promise<unknown>, deadlineMs = this.#deadlineMs): Promise<unknown> {
    if (!this.isUsable) {
      this.counts.unavailable++
      throw new RedisError('REDIS_UNAVAILABLE', `Redis is not available: ${this.#problem}`)
    }
    if (this.#inFlight >= MAX_IN_FLIGHT) {
      this.counts.unavailable++
      throw new RedisError('REDIS_OVERLOADED', `${MAX_IN_FLIGHT} commands wait for Redis already`)
    }
    const connection = this.#connection()
    this.#inFlight++
    const reply = run(connection).finally(() => this.#inFlight--)
    return this.#answered(reply, deadlineMs)
  }

  async #answered(reply: Promise<unknown>, deadlineMs: number): Promise<unknown> {
    // A reply after the deadline is dropped.
    reply.catch(() => undefined)
    try {
      const value = await withDeadline(reply, deadlineMs, 'a command of Redis')
      this.counts.ok++
      this.#circuit.succeeded()
      return value
    } catch (error) {
      throw this.#failure(asError(error))
    }
  }

  #failure(error: Error): RedisError {
    if (error.name === 'ReplyError') {
      // It answers, so it is available: the caller gets the refusal.
      this.counts.refused++
      this.#circuit.succeeded()
      return new RedisError('REDIS_REFUSED', `Redis refused a command: ${error.message}`, { cause: error })
    }
    const isLate = 'code' in error && error.code === 'CORE_TIMEOUT'
    this.counts[isLate ? 'late' : 'unavailable']++
    this.#problem = isLate ? 'it does not answer in time' : error.message
    this.#circuit.failed()
    return new RedisError(isLate ? 'REDIS_TIMEOUT' : 'REDIS_UNAVAILABLE', `Redis failed: ${this.#problem}`, { cause: error })
  }

  /** The next connection that is ready. */
  #connection(): Connection {
    const { length } = this.#connections
    for (let tries = 0; tries < length; tries++) {
      const connection = this.#connections[this.#next++ % length]
      if (connection !== undefined && isReady(connection)) return connection
    }
    throw new RedisError('REDIS_UNAVAILABLE', `Redis is not available: ${this.#problem}`)
  }

  #digestOf(script: RedisScript): string {
    const known = this.#digests.get(script)
    if (known !== undefined) return known
    const digest = hash('sha1', script.lua)
    this.#digests.set(script, digest)
    return digest
  }

  #lost(error: Error): void {
    this.#problem = error.message
    this.#changed()
  }

  #changed(): void {
    const { isUsable } = this
    if (isUsable === this.#wasUsable) return
    this.#wasUsable = isUsable
    this.#options.onChange?.(this)
  }
}

/** A connection for commands that wait in Redis for at most some seconds. */
class BlockingConnection {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Rejects if the connection is lost, or Redis refuses the command. */
  command(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.#connection.callBuffer(name, [...args])
  }

  close(): void {
    this.#connection.disconnect()
  }
}

function isReady({ status }: Connection): boolean {
  return status === 'ready'
}

function readiness(connection: Connection): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.once('ready', () => resolve())
    connection.once('error', reject)
    connection.once('end', () => reject(new RedisError('REDIS_UNAVAILABLE', 'the connection was closed')))
  })
}
