import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { systemClock } from '@svc/core'
import { RedisClient } from '@svc/redis'
import { adminToml, bearer } from '../../packages/auth/test/admin-users.ts'
import { ask } from '../lib/ask.ts'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { figure, type Row } from '../lib/table.ts'
import { timingOf } from '../lib/timing.ts'
import { startSvc, workDir, writeConfig } from '../peers/svc.ts'

const INSTANCES = 8
const HOST = 'numbers.localhost'
const PURGES = 200
const PAGES = 200
const STORM = 1_000
const place = join(workDir, 'cluster')

/** Each render shows another number. */
const PAGE = `export const revalidate = 3600
export default async function Page() {
  return <p>{Math.random()}</p>
}
`

/** A Redis and the instances that share it, one worker each. */
class Cluster {
  readonly redis: RedisClient
  readonly #servers: readonly ServerProcess[]
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 128 })

  private constructor(redis: RedisClient, servers: readonly ServerProcess[]) {
    this.redis = redis
    this.#servers = servers
  }

  static async start(): Promise<Cluster> {
    rmSync(place, { recursive: true, force: true })
    const root = join(place, 'site')
    mkdirSync(join(root, 'app/[id]'), { recursive: true })
    writeFileSync(join(root, 'app/[id]/page.tsx'), PAGE)
    const socket = join(place, 'redis.sock')
    const args = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no']
    const ready = (output: string) => (/ready to accept connections/i.test(output) ? socket : undefined)
    const servers = [await startPinned({ command: 'redis-server', args, ready }, 2)]
    const redis = new RedisClient({
      url: `unix://${socket}`,
      connections: 1,
      name: 'bench',
      clock: systemClock,
      deadlineMs: 5_000,
    })
    const shared = `[cache.isr]\nl2_enabled = true\n\n[redis]\nurl = "unix://${socket}"\n\n${adminToml}`
    const cluster = new Cluster(redis, servers)
    try {
      await redis.ready(10_000)
      for (let i = 0; i < INSTANCES; i++) {
        servers.push(await startSvc(writeConfig(`cluster/${i}`, [{ id: 'numbers', root }], shared), 2))
      }
    } catch (error) {
      await cluster.stop()
      throw error
    }
    return cluster
  }

  /** The number that an instance shows. */
  get(instance: number, path: string): Promise<string> {
    const { url = '' } = this.#servers[1 + (instance % INSTANCES)] ?? {}
    return ask(`${url}${path}`, { agent: this.#agent, host: HOST })
  }

  /** Purges a page on one instance. Resolves with the number of instances that have confirmed it. */
  async purge(instance: number, path: string): Promise<number> {
    const { url = '' } = this.#servers[1 + (instance % INSTANCES)] ?? {}
    const target = `${url}/__svc/admin/api/cache/purge?tag=${encodeURIComponent(`route:numbers:${path}`)}`
    const text = await ask(target, { agent: this.#agent, method: 'POST', headers: await bearer('root') })
    return (JSON.parse(text) as { instances: { acked: number } }).instances.acked
  }

  /** Scripts that Redis has run so far for pages. */
  async scripts(): Promise<number> {
    const text = String(await this.redis.command('INFO', ['commandstats']))
    const calls = [...text.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].map(([, count]) => Number(count))
    return calls.reduce((sum, count) => sum + count, 0)
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    this.redis.close()
    for (const server of this.#servers.toReversed()) await server.stop()
  }
}

const all = Array.from({ length: INSTANCES }, (_, i) => i)

/** From the request of a purge until an instance shows another page than before. */
async function seenAfter(cluster: Cluster, instance: number, path: string, before: string, startedAt: number): Promise<number> {
  while ((await cluster.get(instance, path)) === before);
  return performance.now() - startedAt
}

async function purges(cluster: Cluster): Promise<Row> {
  const seen: number[] = []
  const answered: number[] = []
  let confirmed = 0
  for (let round = 0; round < PURGES; round++) {
    const before = await cluster.get(round, '/purged')
    for (const instance of all) while ((await cluster.get(instance, '/purged')) !== before);
    const startedAt = performance.now()
    const others = all.filter((instance) => instance !== round % INSTANCES)
    const watched = others.map((instance) => seenAfter(cluster, instance, '/purged', before, startedAt))
    if ((await cluster.purge(round, '/purged')) === INSTANCES) confirmed++
    answered.push(performance.now() - startedAt)
    seen.push(...(await Promise.all(watched)))
  }
  const { medianMs, p99Ms } = timingOf(seen)
  const figures = {
    'seen: median ms': figure(medianMs),
    p99: figure(p99Ms),
    worst: figure(Math.max(...seen)),
    'answered: median ms': figure(timingOf(answered).medianMs),
    'confirmed by all': `${confirmed} of ${PURGES}`,
  }
  return { scenario: 'cluster: a purge on one of 8 instances', server: 'svc', figures }
}

async function storm(cluster: Cluster): Promise<Row> {
  const startedAt = performance.now()
  const texts = await Promise.all(Array.from({ length: STORM }, (_, i) => cluster.get(i, '/cold')))
  const figures = { 'ms for all': figure(performance.now() - startedAt), renders: String(new Set(texts).size) }
  return { scenario: `cluster: ${STORM} requests over 8 instances for a page that none has`, server: 'svc', figures }
}

/** Requests each page once, one after the other. */
async function eachPage(cluster: Cluster, instance: number): Promise<{ times: number[]; scripts: number; texts: string[] }> {
  const before = await cluster.scripts()
  const times: number[] = []
  const texts: string[] = []
  for (let page = 0; page < PAGES; page++) {
    const startedAt = performance.now()
    texts.push(await cluster.get(instance, `/page-${page}`))
    times.push(performance.now() - startedAt)
  }
  return { times, scripts: (await cluster.scripts()) - before, texts }
}

async function hits(cluster: Cluster): Promise<Row[]> {
  const scenario = 'cluster: a page for the first time on an instance'
  const rendered = await eachPage(cluster, 0)
  const shared = await eachPage(cluster, 1)
  const own = await eachPage(cluster, 1)
  if (shared.texts.join() !== rendered.texts.join()) throw new Error('an instance has rendered a page that another one had')
  const row = (server: string, { times, scripts }: typeof own): Row => {
    const { medianMs, p99Ms } = timingOf(times)
    const perPage = figure(scripts / PAGES)
    return { scenario, server, figures: { 'median ms': figure(medianMs), p99: figure(p99Ms), 'scripts per page': perPage } }
  }
  return [row('rendered', rendered), row('from Redis', shared), row('from its own cache', own)]
}

/** Eight instances that share a Redis: purges, a storm of misses, and pages that another instance has. */
export async function cluster(): Promise<Row[]> {
  const running = await Cluster.start()
  try {
    return [await purges(running), await storm(running), ...(await hits(running))]
  } finally {
    await running.stop()
  }
}
