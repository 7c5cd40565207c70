import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { type Cleanup, tempDir } from '../processes/temp-dir.ts'
import { untilAccepting } from './accepts.ts'

/** A Redis server of a test. */
export interface RedisPeer {
  readonly child: Child
  /** Unix socket that it listens on. */
  readonly socket: string
}

/** Starts an empty Redis on a unix socket, nothing on disk. `executable` comes from `requireProgram`. */
export async function startRedis(t: Cleanup, executable: string): Promise<RedisPeer> {
  const socket = join(tempDir(t, 'redis'), 'redis.sock')
  const child = new Child(t, executable, ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no'])
  await untilAccepting('redis-server', { path: socket })
  return { child, socket }
}
