// Campaign: listings of a store with 100,000 entries.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { tempDir } from '@svc/testkit'
import { EntryStore, type ListingQuery } from '../../src/index.ts'
import { factsOf, purgeOf } from '../entries.ts'
import { HandClock, openStore, roomy } from './store-fixture.ts'

/** Bytes of the heap that are in use. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

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
    await store.room.evict()
    assert.ok(first.cursor !== null)
    assert.deepEqual(store.list({ limit: 4, cursor: first.cursor }), { entries: [], cursor: null })
  })

  it('counts the reads of an entry by all processes since it was stored, but not uses of copies', async (t) => {
    const cacheDir = tempDir(t)
    const clock = new HandClock()
    const store = await openStore(t, roomy(cacheDir, { clock }))
    const other = await EntryStore.join(roomy(cacheDir, { clock }))
    t.after(() => other.close())
    const put = () => store.put('a', factsOf({ path: '/a', createdAt: clock.now() }), Buffer.from('x'))
    const hits = () => {
      store.refresh()
      return [store.look('a')?.hits, store.list({ limit: 1 }).entries[0]?.hits]
    }
    await put()
    for (let i = 0; i < 3; i++) assert.ok(store.get('a'))
    for (let i = 0; i < 4; i++) assert.ok(other.get('a'))
    other.touch('a')
    store.get('gone')
    assert.deepEqual(hits(), [0, 0], 'reads do not write')
    clock.pass(10_000)
    assert.deepEqual(hits(), [7, 7])
    store.get('a')
    clock.pass(10_000)
    assert.deepEqual(hits(), [8, 8])
    await store.purge({ ...purgeOf(1, { kind: 'everything' }), mode: 'stale' })
    assert.deepEqual(hits(), [8, 8])
    await put()
    assert.deepEqual(hits(), [0, 0], 'another response')
  })

  it('lists a store of 100,000 entries to its end, each key once, a page at a time, while entries come and go', async (t) => {
    const store = await openStore(t, roomy(tempDir(t), { maxEntries: 200_000, maxBytes: 1 << 30 }))
    const put = (name: string) => store.put(name, factsOf({ label: 'shop', path: `/${name}` }), Buffer.from('x'))
    const count = 100_000
    assert.ok((await Promise.all(Array.from({ length: count }, (_, index) => put(`k${index}`)))).every(Boolean))
    const times = new Uint8Array(count)
    const before = heapBytes()
    let cursor: string | undefined
    let pages = 0
    do {
      const listing = store.list({ label: 'shop', limit: 500, ...(cursor === undefined ? {} : { cursor }) })
      assert.ok(listing.entries.length <= 500)
      for (const { key } of listing.entries) {
        const index = Number(key.slice(1))
        if (key.startsWith('k')) times[index] = (times[index] ?? 0) + 1
      }
      cursor = listing.cursor ?? undefined
      if (++pages % 50 !== 0) continue
      assert.ok(heapBytes() - before < 8 << 20, 'pages before are not kept')
      await put(`new${pages}`)
      await store.purge(purgeOf(pages, { kind: 'paths', paths: [`/new${pages - 50}`, `/k${pages}`], hosts: null }))
    } while (cursor !== undefined && pages < 1_000)
    assert.ok(pages >= 200 && pages < 300, `${pages} pages`)
    assert.ok(times.every((seen) => seen <= 1))
    const purged = [50, 100, 150, 200]
    assert.ok(times.every((seen, index) => seen === 1 || purged.includes(index)))
  })
})
