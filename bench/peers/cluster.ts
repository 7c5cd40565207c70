import { mkdirSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { systemClock } from '@svc/core'
import { RedisClient } from '@svc/redis'
import { ask } from '../lib/ask.ts'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { startNginxByInstance } from './nginx.ts'
import { workDir } from './svc.ts'

/** Kind of server that a cluster runs. The page of each path shows another number after each render. */
export interface ClusterKind {
  readonly name: string
  /** Host name of the requests. */
  readonly host?: string
  /** Commands of Redis that count. */
  readonly commands: RegExp
  start(instance: number, redisSocket: string): Promise<ServerProcess>
  /** The request that purges the page of a path. */
  purge(path: string): { readonly target: string; readonly headers?: Readonly<Record<string, string>> }
}

/** Servers that share a Redis, behind nginx. */
export interface Cluster {
  readonly name: string
  readonly instances: number
  /** The number that an instance shows. */
  get(instance: number, path: string): Promise<string>
  /** Purges a page on one instance. Resolves with the text of the answer. */
  purge(instance: number, path: string): Promise<string>
  /** Commands that Redis has run so far for pages. */
  commands(): Promise<number>
  stop(): Promise<void>
}

/** Starts a Redis without files on a unix socket. */
export function startRedis(socket: string, args: readonly string[] = []): Promise<ServerProcess> {
  const all = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', ...args]
  const ready = (output: string) => (/ready to accept connections/i.test(output) ? socket : undefined)
  return startPinned({ command: 'redis-server', args: all, ready }, 2)
}

async function callsOf(redis: RedisClient, pattern: RegExp): Promise<number> {
  const text = String(await redis.command('INFO', ['commandstats']))
  const calls = [...text.matchAll(/cmdstat_([\w|]+):calls=(\d+)/g)].filter(([, name = '']) => pattern.test(name))
  return calls.reduce((sum, [, , count]) => sum + Number(count), 0)
}

function numberOf(html: string): string {
  return /<p>([\d.e-]+)<\/p>/.exec(html)?.[1] ?? html
}

/** Starts instances one after the other. */
export async function startCluster(kind: ClusterKind, instances: number): Promise<Cluster> {
  const dir = join(workDir, 'cluster-redis')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  const socket = join(dir, 'redis.sock')
  const servers = [await startRedis(socket)]
  const redis = new RedisClient({
    url: `unix://${socket}`,
    connections: 1,
    name: 'bench',
    clock: systemClock,
    deadlineMs: 5_000,
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 128 })
  const stop = async () => {
    agent.destroy()
    redis.close()
    for (const one of servers.toReversed()) await one.stop()
  }
  try {
    await redis.ready(10_000)
    for (let i = 0; i < instances; i++) servers.push(await kind.start(i, socket))
    const urls = servers.slice(1).map(({ url }) => url)
    servers.push(await startNginxByInstance(urls, 2))
  } catch (error) {
    await stop()
    throw error
  }
  const front = servers.at(-1)?.url ?? ''
  const { name, commands, host } = kind
  const send = (instance: number, path: string, method: string, headers: Readonly<Record<string, string>> = {}) =>
    ask(`${front}${path}`, {
      agent,
      method,
      headers: { ...headers, 'x-instance': String(instance % instances) },
      ...(host !== undefined && { host }),
    })
  return {
    name,
    instances,
    get: async (instance, path) => numberOf(await send(instance, path, 'GET')),
    purge: (instance, path) => {
      const { target, headers } = kind.purge(path)
      return send(instance, target, 'POST', headers)
    },
    commands: () => callsOf(redis, commands),
    stop,
  }
}
