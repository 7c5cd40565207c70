import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { type Cleanup, tempDir } from '../processes/temp-dir.ts'
import { waitFor } from '../processes/wait-for.ts'
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

/** Sees each command that a Redis carries out. */
export class RedisMonitor {
  readonly #socket: string
  readonly #connection: Socket
  #text = ''
  #marks = 0

  private constructor(t: Cleanup, socket: string) {
    this.#socket = socket
    this.#connection = connect(socket)
    this.#connection.setEncoding('latin1').on('data', (text: string) => {
      this.#text += text
    })
    t.after(() => this.#connection.destroy())
  }

  static async start(t: Cleanup, { socket }: RedisPeer): Promise<RedisMonitor> {
    const monitor = new RedisMonitor(t, socket)
    await once(monitor.#connection, 'connect')
    monitor.#connection.write('MONITOR\r\n')
    await waitFor('Redis reports its commands', () => monitor.#text.startsWith('+OK'))
    return monitor
  }

  /** The commands that clients have sent so far: not those inside of scripts. */
  async commands(): Promise<string[]> {
    const mark = `mark ${++this.#marks}`
    const sender = connect(this.#socket, () => sender.end(`ECHO "${mark}"\r\n`))
    sender.resume()
    await waitFor('Redis reports the last command', () => this.#text.includes(mark))
    return this.#text.split('\r\n').filter((line) => / \[\d+ (?!lua\])/.test(line))
  }
}
