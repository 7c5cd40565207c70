import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { type Cleanup, tempDir } from '../processes/temp-dir.ts'
import { untilAccepting } from './accepts.ts'

/** A Redis server of a test. */
export interface RedisPeer {
  readonly child: Child
  /** Unix socket that it listens on. */
  readonly socket: string
  /** Its address for `redis.url`. */
  readonly url: string
}

/** Options of a Redis server. */
interface RedisPeerOptions {
  /** Where it listens: that of a server that has ended. @default a new one */
  readonly socket?: string
  /** More arguments. */
  readonly args?: readonly string[]
}

/** Starts an empty Redis on a unix socket, nothing on disk. `executable` comes from `requireProgram`. */
export async function startRedis(t: Cleanup, executable: string, options: RedisPeerOptions = {}): Promise<RedisPeer> {
  const { socket = join(tempDir(t, 'redis'), 'redis.sock'), args = [] } = options
  const child = new Child(t, executable, ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', ...args])
  await untilAccepting('redis-server', { path: socket })
  return { child, socket, url: `unix://${socket}` }
}
