import { isIP } from 'node:net'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { RedisAddress } from './redis-url.ts'

/** A connection, or those to the nodes of a cluster. */
export type Connection = Redis | Cluster

const CONNECT_TIMEOUT_MS = 2_000
/** A connection that has sent a command and hears nothing for this long is replaced. */
const SILENCE_MS = 2_000
const MAX_RETRY_MS = 1_000

/** How a connection treats failures. */
interface ConnectionKind {
  /** Connects again when it is lost. */
  readonly reconnects: boolean
  /** Milliseconds without a byte after which it counts as lost, if a reply is due. */
  readonly silenceMs: number
}

/** For commands that are answered at once. */
export const COMMANDS: ConnectionKind = { reconnects: true, silenceMs: SILENCE_MS }
/** For commands that wait in Redis for at most some seconds: its user connects again. */
export const BLOCKING: ConnectionKind = { reconnects: false, silenceMs: 10_000 }
/** For the messages of a channel. */
const LISTENING: ConnectionKind = { reconnects: false, silenceMs: SILENCE_MS }

/**
 * Makes a connection, and begins to connect. Commands fail at once while there is none. The caller listens to its errors.
 * @param name shown by `CLIENT LIST`
 */
export function connect(address: RedisAddress, kind: ConnectionKind, name: string): Connection {
  if (address.kind !== 'cluster') return connectServer(address, kind, name)
  return new Cluster([...address.nodes], {
    redisOptions: optionsOf(address, kind, name),
    enableOfflineQueue: false,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    retryDelayOnFailover: 50,
    maxRedirections: 3,
    clusterRetryStrategy: kind.reconnects ? retryDelayMs : () => null,
    // The addresses that a cluster announces are those of its nodes: nothing is looked up twice.
    dnsLookup: (host, callback) => callback(null, host, isIP(host) === 6 ? 6 : 4),
  })
}

/**
 * Makes a connection to one server that is not made again when it is lost.
 * @param tries takes another node of a cluster each time
 */
export function connectOnce(address: RedisAddress, name: string, tries: number): Redis {
  if (address.kind !== 'cluster') return connectServer(address, LISTENING, name)
  const node = address.nodes[tries % address.nodes.length]
  return new Redis({ ...optionsOf(address, LISTENING, name), ...node })
}

function connectServer(address: Exclude<RedisAddress, { kind: 'cluster' }>, kind: ConnectionKind, name: string): Redis {
  const options = optionsOf(address, kind, name)
  if (address.kind === 'sentinel') {
    const sentinelRetryStrategy = kind.reconnects ? retryDelayMs : () => null
    return new Redis({ ...options, sentinels: [...address.sentinels], name: address.name, sentinelRetryStrategy })
  }
  return new Redis({ ...options, ...(address.kind === 'socket' ? { path: address.path } : address.node) })
}

function optionsOf({ username, password, db, isTls }: RedisAddress, { reconnects, silenceMs }: ConnectionKind, name: string) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: {} }),
    db,
    // The shape of replies does not depend on the version of Redis.
    protocol: 2,
    connectionName: name,
    disableClientInfo: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: silenceMs,
    retryStrategy: reconnects ? retryDelayMs : () => null,
  } satisfies RedisOptions
}

function retryDelayMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times - 1, 10), MAX_RETRY_MS)
}
