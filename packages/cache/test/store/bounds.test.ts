import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { tempDir } from '@svc/testkit'
import type { EntryFacts, EntryStore, EntryStoreOptions } from '../../src/index.ts'
import { factsOf, isWhole, purgeOf, sealedBody } from '../entries.ts'
import { HandClock, openStore, roomy } from './store-fixture.ts'

async function smallStore(t: TestContext, options: Partial<EntryStoreOptions>): Promise<EntryStore> {
  return openStore(t, roomy(tempDir(t), { clock: new HandClock(), ...options }))
}

function keys(count: number, prefix = 'k'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`)
}

async function putInTurn(store: EntryStore, names: readonly string[], facts: EntryFacts, body: Uint8Array): Promise<void> {
  for (const name of names) assert.equal(await store.put(name, facts, body), true)
}

/** The readable entries, counted one by one. */
function left(store: EntryStore, names: readonly string[]): { names: string[]; bytes: number } {
  const found = store.list({ limit: 100_000 }).entries.filter(({ key }) => names.includes(key))
  return { names: names.filter((name) => store.get(name) !== undefined), bytes: found.reduce((sum, { bytes }) => sum + bytes, 0) }
}

describe('bounds of the store', () => {
  it('stores nothing when no entry or no byte is allowed', async (t) => {
    for (const options of [{ maxEntries: 0 }, { maxBytes: 0 }]) {
      const store = await smallStore(t, options)
      assert.equal(await store.put('a', factsOf(), Buffer.from('x')), false)
      assert.deepEqual([store.get('a'), store.room.size(), store.problem], [undefined, { entries: 0, bytes: 0 }, undefined])
      assert.equal(await store.purge(purgeOf(1, { kind: 'everything' })), 0)
      assert.equal(await store.room.evict(), 0)
    }
  })

  it('keeps no more entries than allowed: those put last', async (t) => {
    const store = await smallStore(t, { maxEntries: 10 })
    const names = keys(35)
    await putInTurn(store, names, factsOf(), Buffer.from('x'))
    assert.deepEqual(left(store, names).names, names.slice(25))
    assert.equal(store.room.size().entries, 10)
    assert.equal(store.room.evictions, 25)
  })

  it('keeps no more bytes than allowed, and counts them right', async (t) => {
    const store = await smallStore(t, { maxBytes: 100_000 })
    const names = keys(60)
    await putInTurn(store, names, factsOf(), Buffer.alloc(5_000))
    const found = left(store, names)
    assert.deepEqual(found.names, names.slice(60 - found.names.length))
    assert.ok(found.bytes <= 100_000 && found.bytes > 90_000, String(found.bytes))
    assert.deepEqual(store.room.size(), { entries: found.names.length, bytes: found.bytes })
  })

  it('takes many small entries away for a large one', async (t) => {
    const store = await smallStore(t, { maxBytes: 400_000 })
    const names = keys(300)
    await putInTurn(store, names, factsOf(), Buffer.alloc(1_000))
    assert.equal(await store.put('large', factsOf(), Buffer.alloc(350_000)), true)
    await store.room.evict()
    assert.ok(store.room.size().bytes <= 400_000, String(store.room.size().bytes))
    assert.equal(store.get('large')?.body.byteLength, 350_000)
  })

  it('refuses what is larger than the whole store, and leaves the rest', async (t) => {
    const store = await smallStore(t, { maxBytes: 100_000 })
    await store.put('a', factsOf(), Buffer.from('x'))
    assert.equal(await store.put('large', factsOf(), Buffer.alloc(100_000)), false)
    assert.deepEqual([store.room.size().entries, store.get('a')?.status], [1, 200])
  })

  it('refuses bodies of more than 15 MiB, and gives back those of 15', async (t) => {
    const store = await smallStore(t, { maxBytes: 64 << 20 })
    assert.equal(await store.put('a', factsOf(), Buffer.alloc((15 << 20) + 1)), false)
    assert.equal(await store.put('a', factsOf(), Buffer.alloc(15 << 20, 'ab')), true)
    assert.ok(Buffer.from(store.get('a')?.body ?? []).equals(Buffer.alloc(15 << 20, 'ab')))
    await store.put('b', factsOf(), Buffer.from('x'))
    assert.equal(Buffer.from(store.get('b')?.body ?? []).toString(), 'x')
  })

  it('gives entries with a query in their key at most a quarter', async (t) => {
    const store = await smallStore(t, { maxEntries: 40 })
    await putInTurn(store, keys(20), factsOf(), Buffer.from('x'))
    await putInTurn(store, keys(100, 'q'), factsOf({ isQueryKeyed: true }), Buffer.from('x'))
    assert.deepEqual(left(store, keys(100, 'q')).names, keys(100, 'q').slice(90))
    assert.equal(left(store, keys(20)).names.length, 20)
  })

  it('gives them at most a quarter of the bytes too', async (t) => {
    const store = await smallStore(t, { maxBytes: 400_000 })
    await putInTurn(store, keys(50, 'q'), factsOf({ isQueryKeyed: true }), Buffer.alloc(10_000))
    const { bytes } = left(store, keys(50, 'q'))
    assert.ok(bytes <= 100_000 && bytes > 80_000, String(bytes))
    assert.equal(await store.put('q', factsOf({ isQueryKeyed: true }), Buffer.alloc(100_000)), false)
  })

  it('counts an entry once when it is overwritten, purged and stored again', async (t) => {
    const store = await smallStore(t, {})
    await store.put('a', factsOf(), Buffer.alloc(1_000))
    await store.put('a', factsOf({ isQueryKeyed: true }), Buffer.alloc(10))
    const { bytes } = store.room.size()
    assert.equal(bytes, store.list({ limit: 10 }).entries[0]?.bytes)
    assert.equal(await store.purge(purgeOf(1, { kind: 'everything' })), 1)
    assert.deepEqual(store.room.size(), { entries: 0, bytes: 0 })
    await store.put('a', factsOf({ isQueryKeyed: true }), Buffer.alloc(10))
    await store.room.evict()
    assert.deepEqual(store.room.size(), { entries: 1, bytes })
  })
})

describe('least recently used', () => {
  it('evicts what was not read, once access times have been merged', async (t) => {
    const clock = new HandClock()
    const store = await smallStore(t, { maxEntries: 10, clock })
    await putInTurn(store, keys(10), factsOf(), Buffer.from('x'))
    clock.pass(1_000)
    for (const name of ['k0', 'k3']) assert.notEqual(store.get(name), undefined)
    store.touch('k5')
    clock.pass(10_000)
    await putInTurn(store, keys(7, 'new'), factsOf(), Buffer.from('x'))
    assert.deepEqual(left(store, keys(10)).names, ['k0', 'k3', 'k5'])
  })

  it('merges the access times of more entries than one step takes', async (t) => {
    const clock = new HandClock()
    const store = await smallStore(t, { maxEntries: 600, clock })
    const names = keys(600)
    await Promise.all(names.map((name) => store.put(name, factsOf(), Buffer.from('x'))))
    clock.pass(1_000)
    for (const name of names.slice(0, 500)) store.touch(name)
    clock.pass(10_000)
    await putInTurn(store, keys(100, 'new'), factsOf(), Buffer.from('x'))
    assert.deepEqual(left(store, names).names, names.slice(0, 500))
  })
})

describe('upkeep', () => {
  it('clears away what has passed its deadline, and nothing sooner', async (t) => {
    const clock = new HandClock()
    const store = await smallStore(t, { clock, graceMs: 500 })
    const createdAt = clock.now()
    await store.put('short', factsOf({ createdAt, ttlMs: 1_000, swrMs: 2_000 }), Buffer.from('x'))
    await store.put('long', factsOf({ createdAt, ttlMs: 1_000, swrMs: 3_000 }), Buffer.from('x'))
    await store.put('for ever', factsOf({ createdAt, ttlMs: null, swrMs: 0 }), Buffer.from('x'))
    clock.pass(3_499)
    await store.room.evict()
    assert.equal(store.room.size().entries, 3)
    clock.pass(2)
    assert.equal(await store.room.evict(), 0)
    assert.deepEqual(left(store, ['short', 'long', 'for ever']).names, ['long', 'for ever'])
  })

  it('clears away what was purged, so that its room can be used again', async (t) => {
    const store = await smallStore(t, {})
    await Promise.all(keys(500).map((name) => store.put(name, factsOf(), Buffer.alloc(3_000))))
    await store.purge(purgeOf(1, { kind: 'everything' }))
    assert.equal(store.room.needsEviction, true)
    await store.put('k7', factsOf({ seq: 1 }), Buffer.from('anew'))
    await store.room.evict()
    assert.equal(store.room.needsEviction, false)
    assert.deepEqual(
      store.list({ limit: 1_000 }).entries.map(({ key }) => key),
      ['k7'],
    )
  })

  it('forgets a variance record with the last entry of its path', async (t) => {
    const store = await smallStore(t, {})
    await store.noteReads('blog', '/hello', { query: true, host: false }, 0)
    await store.put('one', factsOf({ isQueryKeyed: true }), Buffer.from('x'))
    await store.put('two', factsOf({ isQueryKeyed: true, siteTags: ['two'] }), Buffer.from('x'))
    await store.purge(purgeOf(1, { kind: 'tags', tags: ['route:blog:two'] }))
    await store.room.evict()
    assert.notEqual(store.variance('blog', '/hello'), undefined)
    await store.purge(purgeOf(2, { kind: 'everything' }))
    await store.room.evict()
    assert.equal(store.variance('blog', '/hello'), undefined)
  })

  it('keeps the file within twice the bytes of the store, however much passes through it', async (t) => {
    const cacheDir = tempDir(t)
    const maxBytes = 4 << 20
    const store = await openStore(t, roomy(cacheDir, { maxBytes, clock: new HandClock() }))
    // Sizes that leave gaps of all kinds: pages that are full of air, and runs of pages that fit nowhere.
    const sizes = [200, 2_100, 4_090, 9_000, 33_000, 120_000]
    let stored = 0
    for (let round = 0; round < 40; round++) {
      const puts = Array.from({ length: 30 }, (_, index) => {
        const bytes = sizes[(round + index) % sizes.length] ?? 0
        return store.put(`k${(round * 7 + index * 13) % 700}`, factsOf(), sealedBody(`${round}`, bytes))
      })
      stored += (await Promise.all(puts)).filter(Boolean).length
    }
    await store.room.evict()
    const { size } = await stat(join(cacheDir, 'isr', 'data.mdb'))
    assert.ok(size <= 2 * maxBytes, String(size))
    assert.ok(store.room.size().bytes <= maxBytes, String(store.room.size().bytes))
    assert.equal(stored, 1_200)
    const { entries } = store.list({ limit: 10_000 })
    assert.equal(entries.length, store.room.size().entries)
    for (const { key } of entries) assert.ok(isWhole(store.get(key)?.body ?? Buffer.alloc(0)), key)
  })
})
