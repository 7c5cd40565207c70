import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { Child, type Cleanup } from '@svc/testkit'
import { EntryStore } from '../../src/index.ts'
import { factsOf, isWhole, purgeOf, sealedBody } from '../entries.ts'
import { roomy } from './store-fixture.ts'
import { expectTrueUsages } from './usage-check.ts'

const program = fileURLToPath(new URL('./writer-program.ts', import.meta.url))

function startWriter(t: Cleanup, cacheDir: string, how: 'open' | 'join', name: string): Child {
  return new Child(t, process.execPath, ['--disable-warning=ExperimentalWarning', program, cacheDir, how, name])
}

function reached(writer: Child, name: string, batch: number): Promise<string> {
  return writer.waitForLine(`batch ${batch} of ${name}`, (line) => line === `${name} batch ${batch}`)
}

/** Every entry that reads is whole and its own, the counters are true, and index and entries agree. */
export async function expectWhole(store: EntryStore): Promise<number> {
  store.refresh()
  const { entries, cursor } = store.list({ limit: 10_000 })
  assert.equal(cursor, null)
  for (const { key, facts } of entries) {
    const body = Buffer.from(store.get(key)?.body ?? assert.fail(`${key} is listed but not there`))
    assert.ok(isWhole(body), `${key} is torn`)
    assert.equal(facts.path, `/${key.slice(1)}`)
    const text = `${key};`
    assert.equal(body.toString('utf8', 32, 32 + text.length), body.length > 32 ? text : '')
  }
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
  assert.deepEqual(store.room.size(), { entries: entries.length, bytes })
  const listed = (label: string) => store.list({ label, limit: 10_000 }).entries.length
  assert.equal(listed('blog') + listed('shop'), entries.length)
  expectTrueUsages(store)
  assert.ok(entries.length <= 200, `${entries.length} entries`)
  assert.deepEqual([store.stats.failedReads, store.stats.lostWrites], [0, 0])
  return entries.length
}

/** The store still takes and gives entries, and a purge finds all of them. */
async function expectUsable(store: EntryStore, count: number): Promise<void> {
  assert.equal(await store.put('k1', factsOf({ path: '/1', seq: 5, createdAt: Date.now() }), sealedBody('k1', 0)), true)
  assert.equal(store.get('k1')?.seq, 5)
  const taken = await store.purge(purgeOf(5, { kind: 'pattern', pattern: '*', labels: null }))
  assert.ok(taken === count || taken === count - 1, `${taken} of ${count}`)
  await store.room.evict()
  assert.equal(store.room.size().entries, 1)
}

/**
 * Two writers at full speed, one of which is killed at some point of its work while the other goes on; then the other. The
 * store is in use all the time.
 */
export async function killWhileInUse(t: Cleanup, cacheDir: string, random: () => number): Promise<number> {
  const store = await EntryStore.open(roomy(cacheDir, { maxEntries: 200, maxBytes: 24 << 20 }))
  try {
    assert.equal(store.damage, undefined)
    const writers = ['one', 'two'].map((name) => ({ name, child: startWriter(t, cacheDir, 'join', name) }))
    for (const { name, child } of writers) {
      await reached(child, name, 1 + Math.floor(random() * 25))
      await child.kill()
      store.room.checkReaders()
    }
    const count = await expectWhole(store)
    await expectUsable(store, count)
    return count
  } finally {
    await store.close()
  }
}

/**
 * A writer at full speed, and this process that joins the store, writes and leaves it again and again: opening must neither
 * lose what others commit at that moment nor make their transactions fail.
 */
export async function joinWhileWritten(t: Cleanup, cacheDir: string, joins: number): Promise<number> {
  const options = roomy(cacheDir, { maxEntries: 200, maxBytes: 24 << 20 })
  const writer = startWriter(t, cacheDir, 'open', 'owner')
  await reached(writer, 'owner', 1)
  for (let index = 0; index < joins; index++) {
    const store = await EntryStore.join(options)
    const key = `k${index % 300}`
    const facts = factsOf({ path: `/${index % 300}`, createdAt: Date.now(), seq: 7 })
    assert.equal(await store.put(key, facts, sealedBody(key, 3_000)), true)
    assert.deepEqual([store.problem, store.stats.failedReads], [undefined, 0])
    await store.close()
  }
  const batches = writer.stdout.split('\n').length
  await reached(writer, 'owner', batches + 2)
  assert.equal(writer.stderr, '')
  await writer.kill()
  const store = await EntryStore.open(options)
  try {
    assert.deepEqual([store.damage, store.problem], [undefined, undefined])
    return await expectWhole(store)
  } finally {
    await store.close()
  }
}

/** The only process that has the store open is killed; then it is opened again. */
export async function killOwner(t: Cleanup, cacheDir: string, random: () => number): Promise<number> {
  const writer = startWriter(t, cacheDir, 'open', 'owner')
  await reached(writer, 'owner', 1 + Math.floor(random() * 40))
  await writer.kill()
  const store = await EntryStore.open(roomy(cacheDir, { maxEntries: 200, maxBytes: 24 << 20 }))
  try {
    assert.deepEqual([store.damage, store.problem], [undefined, undefined])
    const count = await expectWhole(store)
    assert.ok(count > 0)
    await expectUsable(store, count)
    return count
  } finally {
    await store.close()
  }
}
