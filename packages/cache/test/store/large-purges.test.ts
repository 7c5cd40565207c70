// Campaign: purges of a large store, and kills during them.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Child, tempDir } from '@svc/testkit'
import { EntryStore, type PurgeScope } from '../../src/index.ts'
import { factsOf, purgeOf } from '../entries.ts'
import { ENTRIES, foundIn, keyOf, openLargeStore } from './large-store.ts'
import { roomy } from './store-fixture.ts'

const program = fileURLToPath(new URL('./killed-purger-program.ts', import.meta.url))
const even: PurgeScope = { kind: 'tags', tags: ['route:blog:even'] }

async function open(t: TestContext): Promise<EntryStore> {
  const store = await openLargeStore(tempDir(t))
  t.after(() => store.close())
  return store
}

describe('a purge of many entries', () => {
  it('is counted before the store follows, and then takes what was counted', async (t) => {
    const store = await open(t)
    const { count, followed } = await store.beginPurge(purgeOf(5, even))
    assert.equal(count, ENTRIES / 2)
    assert.ok(followed !== undefined, 'carried out at once')
    await followed
    assert.ok(foundIn(store).every((index) => index % 2 === 1))
    assert.equal(store.room.size().entries, ENTRIES / 2)
  })

  it('counts what several scopes or rows lead to once, and what must be looked at by its facts', async (t) => {
    const store = await open(t)
    const everyTag: PurgeScope = { kind: 'pattern', pattern: 'route:blog:*', labels: ['blog'] }
    assert.equal(await store.purge(purgeOf(5, even, { scopes: [even, everyTag, { kind: 'labels', labels: ['blog'] }] })), ENTRIES)
    assert.deepEqual(foundIn(store), [])
  })

  it('counts nothing that an earlier one has counted, whether the store follows that already or not', async (t) => {
    const store = await open(t)
    const both = await Promise.all([store.beginPurge(purgeOf(5, even)), store.beginPurge(purgeOf(6, { kind: 'everything' }))])
    assert.deepEqual(
      both.map(({ count }) => count),
      [ENTRIES / 2, ENTRIES / 2],
    )
    await Promise.all(both.map(({ followed }) => followed))
    assert.equal(store.room.size().entries, 0)
  })

  it('leaves entries that were rendered again since it was counted', async (t) => {
    const store = await open(t)
    const { followed } = await store.beginPurge(purgeOf(5, { kind: 'everything' }))
    const last = keyOf(ENTRIES - 1)
    assert.equal(await store.put(last, factsOf({ path: '/new', seq: 5, createdAt: Date.now() }), Buffer.from('new')), true)
    await followed
    assert.deepEqual(foundIn(store), [ENTRIES - 1])
  })

  it('marks as many entries as it counts', async (t) => {
    const store = await open(t)
    assert.equal(await store.purge(purgeOf(5, even, { mode: 'stale' })), ENTRIES / 2)
    assert.deepEqual([store.get(keyOf(0))?.isMarkedStale, store.get(keyOf(1))?.isMarkedStale], [true, false])
  })

  it('is finished before the store is given back', async (t) => {
    const cacheDir = tempDir(t)
    const store = await openLargeStore(cacheDir)
    await store.beginPurge(purgeOf(5, even))
    await store.close()
    const again = await EntryStore.open(roomy(cacheDir))
    t.after(() => again.close())
    assert.equal(again.room.size().entries, ENTRIES / 2)
  })

  it('is finished by the next owner when the process was killed after it was counted', async (t) => {
    const cacheDir = tempDir(t)
    const child = new Child(t, process.execPath, ['--disable-warning=ExperimentalWarning', program, cacheDir])
    const line = await child.waitForLine('the purge is counted', (text) => text.includes('counted'))
    const [, found] = /^1000 counted, (\d+) found$/.exec(line) ?? assert.fail(line)
    assert.ok(Number(found) > ENTRIES / 2, `the store has followed before the kill: ${line}`)
    await child.exited
    const store = await EntryStore.open(roomy(cacheDir))
    t.after(() => store.close())
    assert.equal(store.damage, undefined)
    assert.ok(foundIn(store).every((index) => index % 2 === 1))
    assert.equal(store.room.size().entries, ENTRIES / 2)
  })
})
