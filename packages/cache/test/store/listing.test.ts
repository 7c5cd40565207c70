import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { tempDir } from '@svc/testkit'
import type { EntryStore, ListingQuery } from '../../src/index.ts'
import { factsOf, purgeOf } from '../entries.ts'
import { openStore, roomy } from './store-fixture.ts'

async function filled(t: TestContext): Promise<EntryStore> {
  const store = await openStore(t, roomy(tempDir(t)))
  for (let index = 0; index < 10; index++) {
    const label = index % 2 === 0 ? 'blog' : 'shop'
    const facts = factsOf({ label, path: `/${index < 5 ? 'low' : 'high'}/${index}`, siteTags: [`t${index % 3}`] })
    await store.put(`${label}\0${index}`, facts, Buffer.from('x'))
  }
  return store
}

/** All pages of a listing, and how many there were. */
function all(store: EntryStore, query: Omit<ListingQuery, 'limit'>, limit: number): { keys: string[]; pages: number } {
  const keys: string[] = []
  let cursor: string | undefined
  for (let pages = 1; ; pages++) {
    const listing = store.list({ ...query, limit, ...(cursor === undefined ? {} : { cursor }) })
    keys.push(...listing.entries.map(({ key }) => key.replace('\0', ' ')))
    if (listing.cursor === null) return { keys: keys.sort(), pages }
    cursor = listing.cursor
  }
}

describe('listing of the store', () => {
  const cases: readonly { query: Omit<ListingQuery, 'limit'>; keys: string[] }[] = [
    { query: { label: 'blog' }, keys: ['blog 0', 'blog 2', 'blog 4', 'blog 6', 'blog 8'] },
    { query: { tag: 'route:shop:t1' }, keys: ['shop 1', 'shop 7'] },
    { query: { prefix: '/high/' }, keys: ['blog 6', 'blog 8', 'shop 5', 'shop 7', 'shop 9'] },
    { query: { prefix: '/high/', label: 'shop' }, keys: ['shop 5', 'shop 7', 'shop 9'] },
    { query: { tag: 'route:blog:t0', prefix: '/low' }, keys: ['blog 0'] },
    { query: { label: 'nobody' }, keys: [] },
  ]
  for (const { query, keys } of cases) {
    it(`finds ${JSON.stringify(query)}, at once and in pieces`, async (t) => {
      const store = await filled(t)
      assert.deepEqual(all(store, query, 100), { keys, pages: 1 })
      assert.deepEqual(all(store, query, 2).keys, keys)
      assert.deepEqual(all(store, query, 1).keys, keys)
    })
  }

  it('lists everything in pieces, without what was dropped meanwhile', async (t) => {
    const store = await filled(t)
    assert.equal(all(store, {}, 3).keys.length, 10)
    const first = store.list({ limit: 4 })
    await store.purge(purgeOf(1, { kind: 'everything' }))
    await store.evict()
    assert.ok(first.cursor !== null)
    assert.deepEqual(store.list({ limit: 4, cursor: first.cursor }), { entries: [], cursor: null })
  })
})
