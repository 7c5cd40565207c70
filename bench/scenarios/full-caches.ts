import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { EntryStore, L0Cache } from '@svc/cache'
import type { ResponseHead } from '@svc/http'
import { factsOf, keyOf } from '../lib/isr-entries.ts'
import { figure, type Row } from '../lib/table.ts'
import { timed } from '../lib/timing.ts'
import { workDir } from '../peers/svc.ts'

const ROUNDS = 9
const ENTRIES = 10_000
const PUTS = 2_000
const HITS = 500_000
const BATCH = 64

/** Puts of 1 KB into a full store, by this many sites: each evicts an entry. */
async function putsWhenFull(sites: number): Promise<{ alone: number; among: number }> {
  const cacheDir = join(workDir, 'full-store')
  rmSync(cacheDir, { recursive: true, force: true })
  const store = await EntryStore.open({ cacheDir, maxEntries: ENTRIES, maxBytes: 1 << 30, graceMs: 0 })
  const body = Buffer.alloc(1024, 'x')
  let next = 0
  const put = () => {
    const index = next++
    const label = `site-${index % sites}`
    return store.put(keyOf(label, index), factsOf(label, index), body)
  }
  const batch = async (count: number) => {
    for (let done = 0; done < count; done += BATCH) await Promise.all(Array.from({ length: BATCH }, put))
  }
  try {
    await batch(ENTRIES + BATCH)
    const among = await timed(
      ROUNDS,
      () => batch(PUTS),
      () => store.room.evict(),
    )
    const alone = await timed(
      ROUNDS,
      async () => {
        for (let index = 0; index < 200; index++) await put()
      },
      () => store.room.evict(),
    )
    return { alone: (alone.medianMs * 1000) / 200, among: (among.medianMs * 1000) / (Math.ceil(PUTS / BATCH) * BATCH) }
  } finally {
    await store.close()
    rmSync(cacheDir, { recursive: true, force: true })
  }
}

/** Hits of L0, and puts of 1 KB into a full L0, by this many sites. */
async function l0WhenFull(sites: number): Promise<{ hit: number; put: number }> {
  const head: ResponseHead = { status: 200, headers: [['content-type', 'text/html']] }
  const cache = new L0Cache<ResponseHead>({ maxBytes: 16 << 20, maxEntryBytes: 1 << 20 }, (made) => made)
  const body = Buffer.alloc(1024, 'x')
  let next = 0
  const put = () => {
    const index = next++
    const label = `site-${index % sites}`
    const purgeables = [{ label, host: `${label}.org`, path: `/${index}`, tags: [] }]
    const facts = { purgeables, expiresAt: Number.POSITIVE_INFINITY, dependsOnCookies: false }
    cache.put({ prefix: `bp${label}.org`, target: `/${index}` }, { facts, head, body }, 0)
  }
  for (let index = 0; index < ENTRIES; index++) put()
  const known = Array.from({ length: 256 }, (_, offset) => {
    const index = next - 1 - offset
    return { prefix: `bpsite-${index % sites}.org`, target: `/${index}` }
  })
  const hit = await timed(ROUNDS, async () => {
    for (let index = 0; index < HITS; index++) {
      const key = known[index & 255]
      if (key === undefined || cache.find(key.prefix, key.target, 0) === undefined) throw new Error('a miss')
    }
  })
  const put1 = await timed(ROUNDS, async () => {
    for (let index = 0; index < PUTS * 10; index++) put()
  })
  return { hit: (hit.medianMs * 1e6) / HITS, put: (put1.medianMs * 1e6) / (PUTS * 10) }
}

/** Caches that are full, of one site and of many. */
export async function fullCaches(): Promise<Row[]> {
  const rows: Row[] = []
  for (const sites of [1, 100, 1_000]) {
    const { alone, among } = await putsWhenFull(sites)
    const { hit, put } = await l0WhenFull(sites)
    const figures = {
      'store: put alone, us': figure(alone),
      'store: put among 64, us': figure(among),
      'L0: hit, ns': figure(hit),
      'L0: put, ns': figure(put),
    }
    rows.push({ scenario: 'full caches', server: `${sites} sites`, figures })
  }
  return rows
}
