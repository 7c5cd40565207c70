import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '@svc/core'
import { RedisClient } from '@svc/redis'
import { adminToml, bearer } from '../../packages/auth/test/admin-users.ts'
import type { ServerProcess } from '../lib/server-process.ts'
import { SlowSocket } from '../lib/slow-socket.ts'
import { figure, type Row } from '../lib/table.ts'
import { timingOf } from '../lib/timing.ts'
import { VersionedLoad, type VersionPurge, type Visit } from '../lib/versioned-load.ts'
import { startRedis } from '../peers/cluster.ts'
import { startNginxByInstance } from '../peers/nginx.ts'
import { startSvc, workDir, writeConfig } from '../peers/svc.ts'

const HOST = 'versions.localhost'
const INSTANCES = 2
const ROUNDS = Number(process.env.ROUNDS ?? 2)
const REST_MS = 1_000
const BEFORE_MS = 6_000
const FAULT_MS = 6_000
const AFTER_MS = 6_000
const SLOW_MS = 500
const place = join(workDir, 'redis-faults')
const redisSocket = join(place, 'redis.sock')
const slowSocket = join(place, 'slow.sock')

/** Two instances behind nginx, their Redis, and an origin that says which version of a page counts. */
class Pair {
  readonly versions = new Map<string, number>()
  slow: SlowSocket | undefined
  #redis: ServerProcess | undefined
  readonly #servers: ServerProcess[] = []
  readonly #origin: Server = createServer((request, response) => {
    response.end(String(this.versions.get((request.url ?? '').slice(1)) ?? 0))
  })

  /** @param isSlow the instances reach Redis by way of a socket that can delay its replies */
  static async start(isSlow: boolean): Promise<Pair> {
    const pair = new Pair()
    try {
      await pair.#start(isSlow)
      return pair
    } catch (error) {
      await pair.stop()
      throw error
    }
  }

  /** Address of nginx. */
  get url(): string {
    return this.#servers.at(-1)?.url ?? ''
  }

  async #start(isSlow: boolean): Promise<void> {
    rmSync(place, { recursive: true, force: true })
    const root = join(place, 'site')
    mkdirSync(join(root, 'app/[id]'), { recursive: true })
    this.#origin.listen(0, '127.0.0.1')
    await once(this.#origin, 'listening')
    const origin = `127.0.0.1:${(this.#origin.address() as AddressInfo).port}`
    writeFileSync(join(root, 'app/[id]/page.tsx'), pageOf(origin))
    await this.startRedis()
    if (isSlow) this.slow = await SlowSocket.start(slowSocket, redisSocket)
    const url = `unix://${isSlow ? slowSocket : redisSocket}`
    const shared = `[cache.isr]\nl2_enabled = true\n\n[redis]\nurl = "${url}"\n\n${adminToml}`
    const site = { id: 'versions', root, fetchAllow: [origin] }
    for (let i = 0; i < INSTANCES; i++) this.#servers.push(await startSvc(writeConfig(`redis-faults/${i}`, [site], shared), 2))
    const urls = this.#servers.map((server) => server.url)
    this.#servers.push(await startNginxByInstance(urls, 2))
  }

  async startRedis(): Promise<void> {
    this.#redis = await startRedis(redisSocket)
  }

  /** Ends Redis with SIGTERM, as a service manager does. */
  async stopRedis(): Promise<void> {
    await this.#redis?.stop()
  }

  signalRedis(signal: NodeJS.Signals): void {
    if (this.#redis !== undefined) process.kill(this.#redis.pid, signal)
  }

  async configureRedis(key: string, value: string): Promise<void> {
    const url = `unix://${redisSocket}`
    const client = new RedisClient({ url, connections: 1, name: 'bench', clock: systemClock, deadlineMs: 5_000 })
    await client.ready(5_000)
    await client.command('CONFIG', ['SET', key, value])
    client.close()
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.toReversed()) await server.stop()
    this.slow?.close()
    await this.stopRedis()
    this.#origin.close()
  }
}

function pageOf(origin: string): string {
  return `export const revalidate = 3600
export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const response = await fetch('http://${origin}/' + id)
  return <p>{await response.text()}</p>
}
`
}

/** A fault of Redis and its repair. */
interface Fault {
  readonly begin: (pair: Pair) => void | Promise<void>
  readonly end: (pair: Pair) => void | Promise<void>
}

const faults: Readonly<Record<string, Fault>> = {
  'stopped (SIGTERM), then started': { begin: (pair) => pair.stopRedis(), end: (pair) => pair.startRedis() },
  'killed (SIGKILL), then started': { begin: (pair) => pair.signalRedis('SIGKILL'), end: (pair) => pair.startRedis() },
  'frozen (SIGSTOP)': { begin: (pair) => pair.signalRedis('SIGSTOP'), end: (pair) => pair.signalRedis('SIGCONT') },
  'full (noeviction)': {
    begin: (pair) => pair.configureRedis('maxmemory', '1'),
    end: (pair) => pair.configureRedis('maxmemory', '0'),
  },
  'restarted empty': {
    begin: async (pair) => {
      await pair.stopRedis()
      await pair.startRedis()
    },
    end: () => undefined,
  },
}

const slowFaults: Readonly<Record<string, Fault>> = {
  'slow by 500 ms': {
    begin: ({ slow }) => {
      if (slow !== undefined) slow.delayMs = SLOW_MS
    },
    end: ({ slow }) => {
      if (slow !== undefined) slow.delayMs = 0
    },
  },
}

/** When a fault began, when it ended, and when the measurement did. */
interface Span {
  readonly from: number
  readonly backAt: number
  readonly to: number
}

/** True if a page was purged before the request, and shows an earlier version. */
function isBehind(visit: Visit, purges: readonly VersionPurge[]): boolean {
  const { page, version, startedAt } = visit
  if (version === undefined) return false
  return purges.some((purge) => purge.page === page && purge.answeredAt <= startedAt && version < purge.version)
}

/** The purges whose answer promises that an instance does not serve older pages. */
function promisedTo(instance: number, purges: readonly VersionPurge[]): VersionPurge[] {
  return purges.filter((purge) => purge.isConfirmed || purge.instance === instance)
}

/** Median and p99 in milliseconds of the responses of a cache. */
function times(visits: readonly Visit[], layer: Visit['layer']): string {
  const took = visits.filter((visit) => visit.layer === layer).map(({ startedAt, endedAt }) => endedAt - startedAt)
  const { medianMs, p99Ms } = timingOf(took)
  return took.length === 0 ? '-' : `${figure(medianMs)} / ${figure(p99Ms)}`
}

/** Result of one round of a fault. */
interface Round {
  readonly before: readonly Visit[]
  readonly during: readonly Visit[]
  readonly requests: number
  readonly failed: number
  readonly stale: number
  readonly purges: number
  readonly confirmed: number
  readonly agreesAfterMs: number
  readonly confirmsAfterMs: number
}

function evaluate(load: VersionedLoad, { from, backAt, to }: Span): Round {
  const { purges } = load
  const within = (start: number, end: number) => load.visits.filter(({ startedAt }) => startedAt >= start && startedAt < end)
  const all = within(from, to)
  const promised = Array.from({ length: INSTANCES }, (_, i) => promisedTo(i, purges))
  const behind = all.filter((visit) => isBehind(visit, purges))
  const ofFault = purges.filter(({ answeredAt }) => answeredAt >= from && answeredAt < backAt)
  const confirmedAt = purges.find(({ answeredAt, isConfirmed }) => answeredAt > backAt && isConfirmed)?.answeredAt
  return {
    before: within(from - BEFORE_MS, from),
    during: within(from, Math.max(backAt, from + FAULT_MS)),
    requests: all.length,
    failed: all.filter(({ version }) => version === undefined).length + load.failedPurges,
    stale: all.filter((visit) => isBehind(visit, promised[visit.instance] ?? [])).length,
    purges: ofFault.length,
    confirmed: ofFault.filter(({ isConfirmed }) => isConfirmed).length,
    agreesAfterMs: Math.max(backAt, ...behind.map(({ endedAt }) => endedAt)) - backAt,
    confirmsAfterMs: (confirmedAt ?? Number.POSITIVE_INFINITY) - backAt,
  }
}

function rowOf(name: string, rounds: readonly Round[]): Row {
  const before = rounds.flatMap((round) => round.before)
  const during = rounds.flatMap((round) => round.during)
  const sum = (numberOf: (round: Round) => number) => rounds.reduce((total, round) => total + numberOf(round), 0)
  const slowest = (numberOf: (round: Round) => number) => figure(Math.max(...rounds.map(numberOf)) / 1000)
  const figures = {
    requests: figure(sum(({ requests }) => requests)),
    failed: String(sum(({ failed }) => failed)),
    'stale after an acknowledged purge': String(sum(({ stale }) => stale)),
    'L0 before: median / p99 ms': times(before, 'l0'),
    'L0 during': times(during, 'l0'),
    'L1 before': times(before, 'l1'),
    'L1 during': times(during, 'l1'),
    'others before': times(before, undefined),
    'others during': times(during, undefined),
    'purges confirmed during it': `${sum(({ confirmed }) => confirmed)} of ${sum(({ purges }) => purges)}`,
    's to agree': slowest(({ agreesAfterMs }) => agreesAfterMs),
    's to confirm purges': slowest(({ confirmsAfterMs }) => confirmsAfterMs),
  }
  return { scenario: 'two instances behind nginx, while Redis is in trouble', server: name, figures }
}

async function measure(pair: Pair, { begin, end }: Fault): Promise<Round> {
  const headers = await bearer('root')
  const purge = (page: string) => ({
    target: `/__svc/admin/api/cache/purge?tag=${encodeURIComponent(`route:versions:/${page}`)}`,
    headers,
  })
  const options = { url: pair.url, host: HOST, instances: INSTANCES, versions: pair.versions, purge }
  await VersionedLoad.warmUp(options)
  const load = new VersionedLoad(options)
  await pause(REST_MS + BEFORE_MS)
  const from = performance.now()
  await begin(pair)
  await pause(Math.max(0, FAULT_MS - (performance.now() - from)))
  await end(pair)
  const backAt = performance.now()
  await pause(AFTER_MS)
  const to = performance.now()
  await load.stop()
  for (const failure of load.failures) process.stderr.write(`  ${failure}\n`)
  return evaluate(load, { from, backAt, to })
}

async function measureAll(isSlow: boolean, all: Readonly<Record<string, Fault>>): Promise<Row[]> {
  const pair = await Pair.start(isSlow)
  const results = new Map<string, Round[]>(Object.keys(all).map((name) => [name, []]))
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      for (const [name, fault] of Object.entries(all)) {
        process.stderr.write(`  round ${round} of ${ROUNDS}: ${name}\n`)
        results.get(name)?.push(await measure(pair, fault))
      }
    }
  } finally {
    await pair.stop()
  }
  return Array.from(results, ([name, rounds]) => rowOf(name, rounds))
}

/** A steady load on two instances while Redis is stopped, killed, frozen, full, restarted and slow. */
export async function redisFaults(): Promise<Row[]> {
  return [...(await measureAll(false, faults)), ...(await measureAll(true, slowFaults))]
}
