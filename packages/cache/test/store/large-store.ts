import { EntryStore } from '../../src/index.ts'
import { factsOf } from '../entries.ts'
import { roomy } from './store-fixture.ts'

/** Entries of the store: more than a purge takes in one step. */
export const ENTRIES = 2_000
export const keyOf = (index: number) => `k${index}`

/** Opens a store as its owner and fills it. Every second entry carries the tag `even`. */
export async function openLargeStore(cacheDir: string): Promise<EntryStore> {
  const store = await EntryStore.open(roomy(cacheDir))
  const body = Buffer.alloc(100, 'x')
  const puts = Array.from({ length: ENTRIES }, (_, index) => {
    const siteTags = index % 2 === 0 ? ['even'] : []
    return store.put(keyOf(index), factsOf({ path: `/${index}`, siteTags, createdAt: Date.now() }), body)
  })
  if ((await Promise.all(puts)).includes(false)) throw new Error('not all entries were stored')
  return store
}

/** Indexes of the entries that the store still finds. */
export function foundIn(store: EntryStore): number[] {
  store.refresh()
  return Array.from({ length: ENTRIES }, (_, index) => index).filter((index) => store.has(keyOf(index)))
}
