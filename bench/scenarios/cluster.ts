import { setTimeout as pause } from 'node:timers/promises'
import { figure, type Row } from '../lib/table.ts'
import { timingOf } from '../lib/timing.ts'
import { type Cluster, startCluster } from '../peers/cluster.ts'
import { hasNext, nextInstances } from '../peers/next.ts'
import { svcInstances } from '../peers/svc-cluster.ts'

const PURGES = 200
const PAGES = 200
const STORM = 1_000
/** One request at a time with this pause watches for a purge: the watcher must not take the processors from the watched. */
const POLL_MS = 2
/** Between two purges, so that the second does not meet the work of the first. */
const REST_MS = 20

/** Times at which a watcher of one instance saw a purge take effect. */
interface Seen {
  /** The end of the last response with the page of before. */
  readonly lastOldMs: number
  /** The end of the first response with another one. */
  readonly firstNewMs: number
}

async function watch(cluster: Cluster, instance: number, path: string, before: string, startedAt: number): Promise<Seen> {
  let lastOldMs = 0
  for (;;) {
    const text = await cluster.get(instance, path)
    const atMs = performance.now() - startedAt
    if (text !== before) return { lastOldMs, firstNewMs: atMs }
    lastOldMs = atMs
    await pause(POLL_MS)
  }
}

/** Purges on each instance in turn; another one is watched, each in turn. */
async function purges(cluster: Cluster): Promise<Row> {
  const { instances, name } = cluster
  const seen: Seen[] = []
  const answered: number[] = []
  // Each instance renders once before: the first page of a renderer takes longer.
  for (let instance = 0; instance < instances; instance++) await cluster.get(instance, `/warm-${instance}`)
  for (let round = 0; round < PURGES; round++) {
    const watched = round + 1 + (Math.floor(round / instances) % (instances - 1))
    const before = await cluster.get(round, '/purged')
    while ((await cluster.get(watched, '/purged')) !== before) await pause(POLL_MS)
    await pause(REST_MS)
    const startedAt = performance.now()
    const watching = watch(cluster, watched, '/purged', before, startedAt)
    await cluster.purge(round, '/purged')
    answered.push(performance.now() - startedAt)
    seen.push(await watching)
  }
  const first = seen.map(({ firstNewMs }) => firstNewMs)
  const last = seen.map(({ lastOldMs }) => lastOldMs)
  const figures = {
    'new page: median ms': figure(timingOf(first).medianMs),
    p99: figure(timingOf(first).p99Ms),
    worst: figure(Math.max(...first)),
    'last old page: p99': figure(timingOf(last).p99Ms),
    'last old page: worst': figure(Math.max(...last)),
    'answered: median': figure(timingOf(answered).medianMs),
  }
  return { scenario: `cluster: a purge on one of ${instances} instances behind nginx`, server: name, figures }
}

async function storm(cluster: Cluster): Promise<Row> {
  const startedAt = performance.now()
  const texts = await Promise.all(Array.from({ length: STORM }, (_, i) => cluster.get(i, '/cold')))
  const figures = { 'ms for all': figure(performance.now() - startedAt), renders: String(new Set(texts).size) }
  const scenario = `cluster: ${STORM} requests over ${cluster.instances} instances for a page that none has`
  return { scenario, server: cluster.name, figures }
}

/** Requests each page once, one after the other. */
async function eachPage(cluster: Cluster, instance: number): Promise<{ times: number[]; commands: number; texts: string[] }> {
  const before = await cluster.commands()
  const times: number[] = []
  const texts: string[] = []
  for (let page = 0; page < PAGES; page++) {
    const startedAt = performance.now()
    texts.push(await cluster.get(instance, `/page-${page}`))
    times.push(performance.now() - startedAt)
  }
  return { times, commands: (await cluster.commands()) - before, texts }
}

async function hits(cluster: Cluster): Promise<Row[]> {
  const scenario = `cluster: a page for the first time on one of ${cluster.instances} instances`
  const rendered = await eachPage(cluster, 0)
  const shared = await eachPage(cluster, 1)
  const own = await eachPage(cluster, 1)
  const same = shared.texts.filter((text, i) => text === rendered.texts[i]).length
  const row = (kind: string, { times, commands }: typeof own): Row => {
    const { medianMs, p99Ms } = timingOf(times)
    const figures = { 'median ms': figure(medianMs), p99: figure(p99Ms), 'Redis commands per page': figure(commands / PAGES) }
    return { scenario, server: `${cluster.name}, ${kind}`, figures }
  }
  return [row('rendered', rendered), row(`from another instance (${same} of ${PAGES})`, shared), row('once more', own)]
}

async function measured(cluster: Cluster): Promise<Row[]> {
  try {
    return [await purges(cluster), await storm(cluster), ...(await hits(cluster))]
  } finally {
    await cluster.stop()
  }
}

/** Two and eight instances that share a Redis: purges, a storm of misses, and pages that another instance has. */
export async function cluster(): Promise<Row[]> {
  const rows: Row[] = []
  for (const instances of [2, 8]) {
    rows.push(...(await measured(await startCluster(await svcInstances(), instances))))
    if (hasNext) rows.push(...(await measured(await startCluster(nextInstances, instances))))
  }
  return rows
}
