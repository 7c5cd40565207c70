import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { EntryStore } from '../../src/index.ts'
import { factsOf, purgeOf } from '../entries.ts'
import { openStore, roomy } from './store-fixture.ts'

const body = Buffer.from('hello')

test('a second read of an entry does not parse it again, and readers cannot change the remembered facts', async (t) => {
  const store = await openStore(t, roomy(tempDir(t), { layer: 'proxy' }))
  await store.put('a', factsOf(), body)
  const [first, second] = [store.get('a'), store.get('a')]
  assert.ok(first !== undefined && second !== undefined)
  assert.deepEqual(first, { ...factsOf(), body })
  assert.equal(second.headers, first.headers)
  assert.ok(Object.isFrozen(first.headers) && Object.isFrozen(first.tags))
})

test('an entry that is written again is read in its new form, even with facts of equal length', async (t) => {
  const store = await openStore(t, roomy(tempDir(t), { layer: 'proxy' }))
  for (const value of ['one', 'two', 'three', 'one']) {
    const facts = factsOf({ headers: [['x-a', value]] })
    await store.put('a', facts, Buffer.from(value))
    for (let time = 0; time < 2; time++) assert.deepEqual(store.get('a'), { ...facts, body: Buffer.from(value) })
  }
})

test('a reader that has read an entry before sees that a purge changed or removed it', async (t) => {
  const store = await openStore(t, roomy(tempDir(t), { layer: 'proxy' }))
  await store.put('a', factsOf(), body)
  assert.equal(store.get('a')?.isMarkedStale, false)
  await store.purge(purgeOf(1, { kind: 'paths', paths: ['/hello'], hosts: null }, { mode: 'stale', layers: ['proxy'] }))
  assert.equal(store.get('a')?.isMarkedStale, true)
  await store.purge(purgeOf(2, { kind: 'paths', paths: ['/hello'], hosts: null }, { layers: ['proxy'] }))
  assert.equal(store.get('a'), undefined)
  await store.put('a', factsOf({ seq: 2 }), body)
  assert.deepEqual(store.get('a'), { ...factsOf({ seq: 2 }), body })
})

test('an entry that another process writes replaces the remembered one', async (t) => {
  const cacheDir = tempDir(t)
  const store = await openStore(t, roomy(cacheDir, { layer: 'proxy' }))
  const other = await EntryStore.join(roomy(cacheDir, { layer: 'proxy' }))
  t.after(() => other.close())
  await store.put('a', factsOf(), body)
  other.refresh()
  assert.deepEqual(other.get('a')?.headers, factsOf().headers)
  const facts = factsOf({ headers: [['content-type', 'text/plain; charset=latin-1']] })
  await store.put('a', facts, body)
  other.refresh()
  assert.deepEqual(other.get('a'), { ...facts, body })
})

test('more entries than are remembered, and facts that are too long for it', async (t) => {
  const store = await openStore(t, roomy(tempDir(t), { layer: 'proxy' }))
  const headersOf = (index: number) => [['x-a', `${index}${'x'.repeat(index % 50 === 0 ? 5_000 : 0)}`]] as const
  const keys = Array.from({ length: 600 }, (_, index) => `key ${index}`)
  await Promise.all(keys.map((key, index) => store.put(key, factsOf({ headers: headersOf(index) }), Buffer.from(key))))
  for (let round = 0; round < 2; round++) {
    for (const [index, key] of keys.entries()) {
      const entry = store.get(key)
      assert.deepEqual(entry?.headers, headersOf(index))
      assert.equal(Buffer.from(entry?.body ?? []).toString(), key)
    }
  }
})
