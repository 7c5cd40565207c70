import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type EntryFacts, IsrStore, type Purge, responseTags } from '@svc/cache'
import { figure, type Row } from '../lib/table.ts'
import { workDir } from '../peers/svc.ts'

const LABEL = 'bench'
const ROUNDS = 9
/** Entries that carry one tag, as the posts of an author do. */
const GROUP = 100
const LARGE_GROUP = 10_000
/** Puts under way at a time. */
const BATCH = 64

function factsOf(index: number): EntryFacts {
  const path = `/posts/${index}`
  return {
    kind: 'response',
    label: LABEL,
    path,
    host: '',
    isQueryKeyed: false,
    tags: responseTags(LABEL, path, '/posts/[slug]', [
      `author-${Math.floor(index / GROUP)}`,
      `year-${Math.floor(index / LARGE_GROUP)}`,
    ]),
    createdAt: Date.now(),
    ttlMs: 3_600_000,
    swrMs: 3_600_000,
    isMarkedStale: false,
    seq: 0,
    status: 200,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['etag', `"${index.toString(16).padStart(16, '0')}"`],
    ],
  }
}

const keyOf = (index: number) => `${LABEL}\0/posts/${index}\0\0`

async function fill(store: IsrStore, entries: number, body: Buffer): Promise<void> {
  for (let at = 0; at < entries; at += BATCH) {
    const count = Math.min(BATCH, entries - at)
    await Promise.all(Array.from({ length: count }, (_, index) => store.put(keyOf(at + index), factsOf(at + index), body)))
  }
}

async function withStore<Result>(work: (store: IsrStore) => Promise<Result>): Promise<Result> {
  const cacheDir = join(workDir, 'isr-store')
  rmSync(cacheDir, { recursive: true, force: true })
  const store = await IsrStore.open({ cacheDir, maxEntries: 200_000, maxBytes: 1 << 30, graceMs: 0 })
  if (store.problem !== undefined) throw new Error(store.problem)
  try {
    return await work(store)
  } finally {
    await store.close()
    rmSync(cacheDir, { recursive: true, force: true })
  }
}

/** The middle of some measurements, in milliseconds. */
async function medianMs(rounds: number, task: (round: number) => unknown): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now()
    await task(round)
    times.push(performance.now() - startedAt)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
}

/** Reads and puts of 1 KB and 32 KB, one at a time: each read in a turn of its own, as requests come. */
export async function isrStoreEntries(): Promise<Row[]> {
  const rows: Row[] = []
  for (const bytes of [1024, 32 * 1024]) {
    const body = Buffer.alloc(bytes, 'x')
    const figures = await withStore(async (store) => {
      await fill(store, 2_000, body)
      const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
      const turns = 2_000
      const read = await medianMs(ROUNDS, async (round) => {
        for (let index = 0; index < turns; index++) {
          store.get(keyOf((index * 7 + round) % 2_000))
          await nextTurn()
        }
      })
      const empty = await medianMs(ROUNDS, async () => {
        for (let index = 0; index < turns; index++) await nextTurn()
      })
      const put = await medianMs(ROUNDS, async () => {
        for (let index = 0; index < 200; index++) await store.put(keyOf(index), factsOf(index), body)
      })
      const batch = await medianMs(ROUNDS, () => fill(store, 640, body))
      return {
        'read, us': figure(((read - empty) * 1000) / turns),
        'put alone, us': figure((put * 1000) / 200),
        'put among 64, us': figure((batch * 1000) / 640),
      }
    })
    rows.push({ scenario: 'ISR store: entries', server: `${bytes / 1024} KB`, figures })
  }
  return rows
}

/** Purges by tag: of 100 entries, and of 10,000, in stores of 10,000 and of 100,000. */
export async function isrStorePurges(): Promise<Row[]> {
  const rows: Row[] = []
  const body = Buffer.alloc(1024, 'x')
  let number = 0
  const purgeOf = (tag: string): Purge => ({
    number: ++number,
    layers: ['isr'],
    scopes: [{ kind: 'tags', tags: [`route:${LABEL}:${tag}`] }],
    mode: 'drop',
  })
  for (const entries of [10_000, 100_000]) {
    const figures = await withStore(async (store) => {
      await fill(store, entries, body)
      let taken = 0
      const small = await medianMs(ROUNDS, async (round) => {
        taken += await store.purge(purgeOf(`author-${round}`))
      })
      if (taken !== ROUNDS * GROUP) throw new Error(`${taken} entries purged`)
      const large = await medianMs(3, async () => {
        await store.purge({ ...purgeOf('year-0'), mode: 'stale' })
      })
      const drop = await medianMs(1, () => store.purge(purgeOf('year-0')))
      const sweep = await medianMs(1, () => store.evict())
      return {
        'drop 100, ms': figure(small),
        'mark 10,000, ms': figure(large),
        'drop 10,000, ms': figure(drop),
        'clearing those away afterwards, ms': figure(sweep),
      }
    })
    rows.push({ scenario: 'ISR store: purges by tag', server: `${entries} entries`, figures })
  }
  return rows
}
