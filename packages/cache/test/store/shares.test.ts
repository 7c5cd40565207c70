import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Child, tempDir } from '@svc/testkit'
import { type EntryFacts, EntryStore, type EntryStoreOptions } from '../../src/index.ts'
import { factsOf, purgeOf } from '../entries.ts'
import { HandClock, openStore, roomy } from './store-fixture.ts'
import { expectTrueUsages } from './usage-check.ts'

async function smallStore(t: TestContext, options: Partial<EntryStoreOptions> = {}): Promise<EntryStore> {
  return openStore(t, roomy(tempDir(t), { maxEntries: 100, clock: new HandClock(), ...options }))
}

type Puts = Partial<EntryFacts> & { readonly bytes?: number; readonly prefix?: string; readonly each?: () => void }

/** Puts so many entries of a label, in the order of their numbers. */
async function put(store: EntryStore, label: string, count: number, { bytes = 10, prefix = 'k', each, ...facts }: Puts = {}) {
  for (let from = 0; from < count; from += 64) {
    const numbers = Array.from({ length: Math.min(64, count - from) }, (_, index) => from + index)
    const put = (number: number) =>
      store.put(`${label} ${prefix}${number}`, factsOf({ label, path: `/${prefix}${number}`, ...facts }), Buffer.alloc(bytes))
    await Promise.all(numbers.map(put))
    each?.()
  }
}

/** How many entries of a label can be read. */
function left(store: EntryStore, label: string, count: number, prefix = 'k'): number {
  return Array.from({ length: count }, (_, index) => store.has(`${label} ${prefix}${index}`)).filter(Boolean).length
}

function entriesOf(store: EntryStore, label: string): number {
  return store.room.usages().find((usage) => usage.label === label)?.entries ?? 0
}

describe('shares of sites', () => {
  it('evict entries of the site that fills the store, and none of the others', async (t) => {
    const store = await smallStore(t)
    for (const label of ['a', 'b', 'c']) await put(store, label, 10)
    await put(store, 'flood', 1_000)
    assert.deepEqual(
      ['a', 'b', 'c'].map((label) => left(store, label, 10)),
      [10, 10, 10],
    )
    assert.equal(left(store, 'flood', 1_000), 70)
    assert.ok(store.has('flood k999'))
    expectTrueUsages(store)
  })

  it('hold with the bounds of 10,000 entries under 11,000 data entries of one site', async (t) => {
    const store = await smallStore(t, { maxEntries: 10_000, maxBytes: 1 << 30 })
    for (const label of ['a', 'b']) await put(store, label, 200)
    await put(store, 'flood', 11_000, { kind: 'data', path: '', isNewcomer: true })
    assert.deepEqual(
      ['a', 'b'].map((label) => left(store, label, 200)),
      [200, 200],
    )
    assert.equal(store.room.size().entries, 10_000)
  })

  it('let a site that is alone use everything, and take back from it when another one comes', async (t) => {
    const store = await smallStore(t)
    await put(store, 'first', 150)
    assert.equal(entriesOf(store, 'first'), 100)
    await put(store, 'second', 150)
    assert.deepEqual([entriesOf(store, 'first'), entriesOf(store, 'second')], [50, 50])
    await put(store, 'third', 10)
    assert.equal(entriesOf(store, 'third'), 10)
    assert.deepEqual([entriesOf(store, 'first'), entriesOf(store, 'second')], [45, 45])
    await store.purge(purgeOf(1, { kind: 'labels', labels: ['first', 'third'] }))
    await put(store, 'second', 150, { prefix: 'new' })
    assert.equal(entriesOf(store, 'second'), 100)
    expectTrueUsages(store)
  })

  it('are shares of bytes too', async (t) => {
    const store = await smallStore(t, { maxEntries: 10_000, maxBytes: 1_000_000 })
    await put(store, 'small', 100, { bytes: 1_000 })
    await put(store, 'flood', 300, { bytes: 20_000 })
    assert.equal(left(store, 'small', 100), 100)
    assert.ok(store.room.size().bytes <= 1_000_000)
    await put(store, 'even', 300, { bytes: 20_000 })
    const bytes = (label: string) => store.room.usages().find((usage) => usage.label === label)?.bytes ?? 0
    assert.ok(Math.abs(bytes('flood') - bytes('even')) <= 21_000, `${bytes('flood')} and ${bytes('even')}`)
    assert.equal(left(store, 'small', 100), 100)
  })

  it('follow the weights, and entries of removed sites are evicted first', async (t) => {
    const store = await smallStore(t)
    await put(store, 'gone', 60)
    store.room.setWeights(
      new Map([
        ['one', 1],
        ['three', 3],
      ]),
    )
    for (let round = 0; round < 2; round++) {
      await put(store, 'one', 200)
      await put(store, 'three', 200)
    }
    assert.deepEqual([entriesOf(store, 'one'), entriesOf(store, 'three'), entriesOf(store, 'gone')], [25, 75, 0])
    store.room.setWeights(
      new Map([
        ['one', 1],
        ['three', 1],
      ]),
    )
    await put(store, 'one', 200, { prefix: 'new' })
    assert.deepEqual([entriesOf(store, 'one'), entriesOf(store, 'three')], [50, 50])
    expectTrueUsages(store)
  })

  it('share the quarter of entries with a query as well', async (t) => {
    const store = await smallStore(t)
    await put(store, 'a', 5, { isQueryKeyed: true })
    await put(store, 'flood', 200, { isQueryKeyed: true })
    assert.deepEqual([left(store, 'a', 5), entriesOf(store, 'flood')], [5, 20])
  })

  it('outlast a restart, and are the same for every process', async (t) => {
    const options = roomy(tempDir(t), { maxEntries: 100 })
    const first = await EntryStore.open(options)
    first.room.setWeights(
      new Map([
        ['a', 4],
        ['b', 1],
      ]),
    )
    await put(first, 'a', 100, { createdAt: Date.now() })
    const other = await EntryStore.join(options)
    await put(other, 'b', 100, { createdAt: Date.now() })
    assert.deepEqual([entriesOf(other, 'a'), entriesOf(other, 'b')], [80, 20])
    await other.close()
    const before = first.room.usages()
    await first.close()
    const second = await openStore(t, options)
    assert.deepEqual([second.damage, second.room.usages()], [undefined, before])
    await put(second, 'c', 10, { createdAt: Date.now() })
    assert.deepEqual(
      ['a', 'b', 'c'].map((label) => entriesOf(second, label)),
      [72, 18, 10],
    )
    expectTrueUsages(second)
  })

  it('hold where the file has no room left, before the bounds are reached', async (t) => {
    const store = await smallStore(t, { maxEntries: 100_000, maxBytes: 2 << 20 })
    await put(store, 'quiet', 50, { bytes: 1_000 })
    // Rows of the index count for nothing but room in the file.
    for (let round = 0; round < 350; round++) {
      const tags = Array.from({ length: 200 }, (_, index) => `route:flood:${round} ${index}`)
      await put(store, 'flood', 1, { tags, prefix: `r${round} ` })
    }
    assert.ok(
      store.room.size().bytes < 2 << 20 && store.room.evictions > 0,
      `${store.room.size().bytes} bytes, ${store.room.evictions} evicted`,
    )
    assert.equal(left(store, 'quiet', 50), 50)
    expectTrueUsages(store)
  })

  it('hold while several processes write, one of which is killed', async (t) => {
    const cacheDir = tempDir(t)
    const store = await openStore(t, roomy(cacheDir, { maxEntries: 200, maxBytes: 24 << 20 }))
    await put(store, 'quiet', 20, { createdAt: Date.now() })
    const program = fileURLToPath(new URL('./flood-program.ts', import.meta.url))
    const start = (label: string) =>
      new Child(t, process.execPath, ['--disable-warning=ExperimentalWarning', program, cacheDir, label])
    const floods = ['x', 'y'].map((label) => ({ label, child: start(label) }))
    for (const { label, child } of floods) {
      await child.waitForLine('a full store', (line) => line === `${label} 400`)
      await child.kill()
    }
    store.room.checkReaders()
    expectTrueUsages(store)
    assert.equal(left(store, 'quiet', 20), 20)
    assert.ok(store.room.size().entries <= 200)
  })
})

describe('newcomers', () => {
  it('cannot push out what their site has', async (t) => {
    const clock = new HandClock()
    const store = await smallStore(t, { clock })
    await put(store, 'a', 60)
    await put(store, 'b', 10)
    await put(store, 'a', 1_000, { prefix: 'new', isNewcomer: true })
    assert.deepEqual([left(store, 'a', 60), left(store, 'b', 10)], [60, 10])
    assert.equal(left(store, 'a', 1_000, 'new'), 30)
    assert.ok(store.has('a new999'))
    expectTrueUsages(store)
  })

  it('take at most a quarter of what their site has once room is short', async (t) => {
    const store = await smallStore(t)
    await put(store, 'a', 1_000, { prefix: 'new', isNewcomer: true })
    assert.equal(entriesOf(store, 'a'), 100)
    await put(store, 'a', 90)
    await put(store, 'a', 1_000, { prefix: 'more', isNewcomer: true })
    assert.deepEqual([left(store, 'a', 90), left(store, 'a', 1_000, 'new'), left(store, 'a', 1_000, 'more')], [75, 0, 25])
  })

  it('are none any more once they were requested again', async (t) => {
    const clock = new HandClock()
    const store = await smallStore(t, { clock })
    await put(store, 'a', 50, { isNewcomer: true })
    for (let number = 0; number < 50; number++) assert.ok(store.get(`a k${number}`))
    clock.pass(100)
    assert.equal(store.room.usages()[0]?.newEntries, 0)
    await put(store, 'a', 500, { prefix: 'new', isNewcomer: true })
    assert.equal(left(store, 'a', 50), 50)
    // Rendered once more it stays as it is.
    await put(store, 'a', 50, { isNewcomer: true })
    await put(store, 'a', 500, { prefix: 'other', isNewcomer: true })
    assert.equal(left(store, 'a', 50), 50)
    expectTrueUsages(store)
  })

  it('keep their count when they are purged, replaced or expire', async (t) => {
    const clock = new HandClock()
    const store = await smallStore(t, { clock })
    await put(store, 'a', 20, { isNewcomer: true })
    await put(store, 'a', 5, { isNewcomer: true, bytes: 500 })
    await put(store, 'a', 2, {})
    assert.equal(store.room.usages()[0]?.newEntries, 18)
    await store.purge(purgeOf(1, { kind: 'tags', tags: ['route:a:/k3'] }))
    assert.equal(store.room.usages()[0]?.newEntries, 17)
    clock.pass(10_000_000)
    await store.room.evict()
    assert.deepEqual([store.room.usages()[0]?.newEntries, store.room.usages()[0]?.bytes], [0, 0])
  })
})
