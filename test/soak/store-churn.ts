import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { EntryStore } from '@svc/cache'
import { tempDir } from '@svc/testkit'
import { factsOf, isWhole, sealedBody } from '../../packages/cache/test/entries.ts'
import { expectTrueUsages } from '../../packages/cache/test/store/usage-check.ts'
import { repeat, type SoakPart } from './soak-part.ts'

const MAX_BYTES = 16 << 20
const PUTS_PER_ROUND = 400
const KEYS = 20_000
const LABELS = ['blog', 'shop', 'docs']
/** Sizes that fill pages badly, and runs of pages that fit into no gap. */
const SIZES = [200, 2_100, 4_090, 9_000, 33_000, 120_000]

/** Entries of all sizes pass through a store that is always full. */
export const storeChurn: SoakPart = {
  about:
    'a full ISR store under writes of all sizes; bytes, entries and file stay within their bounds, and sites are counted right',
  rounds: 500,
  async run(run) {
    const cacheDir = tempDir(run.cleanup, 'svc-soak')
    const store = await EntryStore.open({ cacheDir, maxEntries: 5_000, maxBytes: MAX_BYTES, graceMs: 0 })
    const pick = (count: number) => Math.floor(run.random() * count)
    try {
      return await repeat(run, async () => {
        const puts = Array.from({ length: PUTS_PER_ROUND }, () => {
          const number = pick(KEYS)
          const key = `k${number}`
          const facts = factsOf({
            label: LABELS[number % LABELS.length] ?? '',
            path: `/${key}`,
            createdAt: Date.now(),
            isQueryKeyed: pick(4) === 0,
            isNewcomer: pick(3) === 0,
          })
          return store.put(key, facts, sealedBody(key, (SIZES[pick(SIZES.length)] ?? 0) + pick(500)))
        })
        const stored = (await Promise.all(puts)).filter(Boolean).length
        await store.room.evict()
        const { entries } = store.list({ limit: 100_000 })
        const { key } = entries[pick(entries.length)] ?? assert.fail('the store is empty')
        assert.ok(isWhole(Buffer.from(store.get(key)?.body ?? [])), `${key} is torn`)
        const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
        assert.deepEqual(store.room.size(), { entries: entries.length, bytes })
        expectTrueUsages(store)
        assert.ok(bytes <= MAX_BYTES && entries.length <= 5_000, `${entries.length} entries, ${bytes} bytes`)
        const { size } = await stat(join(cacheDir, 'isr', 'data.mdb'))
        assert.ok(size <= 2 * MAX_BYTES, `the file has ${size} bytes`)
        return `${stored} stored, ${entries.length} left, file ${(size / MAX_BYTES).toFixed(2)} of the bytes allowed`
      })
    } finally {
      await store.close()
    }
  },
}
