// Fills a store whose file cannot grow on, as on a full disk: started under `ulimit -f`. Prints what became of it as JSON.
import { EntryStore } from '../../src/index.ts'
import { factsOf, isWhole, purgeOf, sealedBody } from '../entries.ts'
import { roomy } from './store-fixture.ts'

/** The output of the program. */
export interface FullDiskReport {
  readonly problem: string | null
  readonly stored: number
  readonly refused: number
  readonly lostWrites: number
  /** Stored entries that are still there and whole. */
  readonly whole: number
  /** How many a purge took; null when it could not be carried out. */
  readonly purged: number | null
}

const store = await EntryStore.open(roomy(process.argv[2] ?? ''))
const stored: string[] = []
let refused = 0
for (let index = 0; index < 600; index++) {
  const key = `k${index}`
  const facts = factsOf({ path: `/${index}`, createdAt: Date.now() })
  if (await store.put(key, facts, sealedBody(key, 5_000))) stored.push(key)
  else refused++
}
const whole = stored.filter((key) => isWhole(Buffer.from(store.get(key)?.body ?? []))).length
const purged = await store.purge(purgeOf(1, { kind: 'everything' })).catch((error: { code?: string }) => {
  if (error.code !== 'CACHE_PURGE_FAILED') throw error
  return null
})
const { lostWrites } = store.stats
const report: FullDiskReport = { problem: store.problem ?? null, stored: stored.length, refused, lostWrites, whole, purged }
process.stdout.write(`${JSON.stringify(report)}\n`)
await store.room.evict()
await store.close()
