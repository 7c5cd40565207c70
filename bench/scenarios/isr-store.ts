import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { EntryStore, type Purge } from '@svc/cache'
import { factsOf, fill, GROUP, groupTag, keyOf, largeGroupTag } from '../lib/isr-entries.ts'
import { figure, type Row } from '../lib/table.ts'
import { timed } from '../lib/timing.ts'
import { workDir } from '../peers/svc.ts'

const LABEL = 'bench'
const ROUNDS = 9

async function withStore<Result>(work: (store: EntryStore) => Promise<Result>): Promise<Result> {
  const cacheDir = join(workDir, 'isr-store')
  rmSync(cacheDir, { recursive: true, force: true })
  const store = await EntryStore.open({ cacheDir, maxEntries: 200_000, maxBytes: 1 << 30, graceMs: 0 })
  if (store.problem !== undefined) throw new Error(store.problem)
  try {
    return await work(store)
  } finally {
    await store.close()
    rmSync(cacheDir, { recursive: true, force: true })
  }
}

/** The middle of some measurements, in milliseconds. */
async function medianMs(rounds: number, task: (round: number) => Promise<unknown>): Promise<number> {
  return (await timed(rounds, task)).medianMs
}

/** Reads and puts of 1 KB and 32 KB, one at a time: each read in a turn of its own, as requests come. */
export async function isrStoreEntries(): Promise<Row[]> {
  const rows: Row[] = []
  for (const bytes of [1024, 32 * 1024]) {
    const body = Buffer.alloc(bytes, 'x')
    const figures = await withStore(async (store) => {
      await fill(store, LABEL, body, 0, 2_000)
      const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
      const turns = 2_000
      const read = await medianMs(ROUNDS, async (round) => {
        for (let index = 0; index < turns; index++) {
          store.get(keyOf(LABEL, (index * 7 + round) % 2_000))
          await nextTurn()
        }
      })
      const empty = await medianMs(ROUNDS, async () => {
        for (let index = 0; index < turns; index++) await nextTurn()
      })
      const put = await medianMs(ROUNDS, async () => {
        for (let index = 0; index < 200; index++) await store.put(keyOf(LABEL, index), factsOf(LABEL, index), body)
      })
      const batch = await medianMs(ROUNDS, () => fill(store, LABEL, body, 0, 640))
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
      await fill(store, LABEL, body, 0, entries)
      let taken = 0
      const small = await medianMs(ROUNDS, async (round) => {
        taken += await store.purge(purgeOf(groupTag(round)))
      })
      if (taken !== ROUNDS * GROUP) throw new Error(`${taken} entries purged`)
      const large = await medianMs(3, async () => {
        await store.purge({ ...purgeOf(largeGroupTag(0)), mode: 'stale' })
      })
      const drop = await medianMs(1, () => store.purge(purgeOf(largeGroupTag(0))))
      const sweep = await medianMs(1, () => store.room.evict())
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
