// Campaign: damages of the file of a store.
import assert from 'node:assert/strict'
import { mkdir, open, readdir, readFile, rename, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { tempDir } from '@svc/testkit'
import { EntryStore } from '../../src/index.ts'
import { noteDamage } from '../../src/store/store-seal.ts'
import { factsOf, purgeOf, sealedBody } from '../entries.ts'
import { openStore, roomy } from './store-fixture.ts'

const ENTRIES = 200

/** Makes a store with entries of all sizes, and closes it in order. */
async function makeStore(cacheDir: string): Promise<void> {
  const store = await EntryStore.open(roomy(cacheDir))
  const puts = Array.from({ length: ENTRIES }, (_, index) =>
    store.put(`k${index}`, factsOf({ path: `/${index}`, createdAt: Date.now() }), sealedBody(`${index}`, 50 * index)),
  )
  assert.ok((await Promise.all(puts)).every(Boolean))
  await store.close()
}

const dataOf = (cacheDir: string) => join(cacheDir, 'isr', 'data.mdb')
const sealOf = (cacheDir: string) => join(cacheDir, 'isr', 'store.json')

async function overwrite(path: string, from: number, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'r+')
  await file.write(bytes, 0, bytes.byteLength, from)
  await file.close()
}

async function changeSeal(cacheDir: string, change: Record<string, unknown>): Promise<void> {
  const seal = JSON.parse(await readFile(sealOf(cacheDir), 'utf8'))
  await writeFile(sealOf(cacheDir), JSON.stringify({ ...seal, ...change }))
}

/** Kinds of damage to a store, and the report of each. */
const damages: Readonly<Record<string, { hurt: (cacheDir: string) => Promise<void>; says: RegExp }>> = {
  'cut to half': { hurt: (dir) => truncate(dataOf(dir), 600_000), says: /reading it failed|MDB_/ },
  'cut to one page': { hurt: (dir) => truncate(dataOf(dir), 4096), says: /reading it failed|MDB_/ },
  'cut to a few bytes': { hurt: (dir) => truncate(dataOf(dir), 100), says: /reading it failed|MDB_/ },
  'with noise for its head': {
    hurt: (dir) => overwrite(dataOf(dir), 0, Buffer.alloc(8192, 0xa7)),
    says: /reading it failed|MDB_/,
  },
  'with noise after its head': {
    hurt: (dir) => overwrite(dataOf(dir), 8192, Buffer.alloc(900_000, 0xa7)),
    says: /reading it failed|MDB_/,
  },
  'with zeros in its middle': {
    hurt: (dir) => overwrite(dataOf(dir), 200_000, Buffer.alloc(800_000)),
    says: /reading it failed|MDB_|checksum|record/,
  },
  'with other bytes in a body': { hurt: flipBody, says: /checksum of an entry is wrong/ },
  'of another format': { hurt: (dir) => changeSeal(dir, { format: 0 }), says: /format is not the one this version uses/ },
  'of another architecture': { hurt: (dir) => changeSeal(dir, { arch: 'pdp11' }), says: /machine with another architecture/ },
  'of another byte order': { hurt: (dir) => changeSeal(dir, { endianness: 'BE' }), says: /machine with another architecture/ },
  'without a seal': { hurt: (dir) => rm(sealOf(dir)), says: /no readable seal/ },
  'with a seal that is none': { hurt: (dir) => writeFile(sealOf(dir), '{"format":1'), says: /no readable seal/ },
  'in use when the machine stopped': {
    hurt: (dir) => changeSeal(dir, { bootId: 'another boot', left: null, isSynced: false }),
    says: /machine stopped/,
  },
  'found damaged in use': {
    hurt: (dir) => writeFile(join(dir, 'isr', 'damaged'), 'MDB_CORRUPTED'),
    says: /damaged while in use/,
  },
  'whose data is a directory': {
    async hurt(dir) {
      await rm(dataOf(dir))
      await mkdir(dataOf(dir))
    },
    says: /not a regular file/,
  },
}

/** Changes one byte of a body: the tree is whole, the page of that site is not. */
async function flipBody(cacheDir: string): Promise<void> {
  const data = await readFile(dataOf(cacheDir))
  const at = data.indexOf('150;150;150;')
  assert.notEqual(at, -1)
  await overwrite(dataOf(cacheDir), at, Buffer.from('9'))
}

describe('a damaged store', () => {
  for (const [what, { hurt, says }] of Object.entries(damages)) {
    it(`${what} is moved aside, and the store starts empty`, async (t) => {
      const cacheDir = tempDir(t)
      await makeStore(cacheDir)
      await hurt(cacheDir)
      const store = await openStore(t, roomy(cacheDir))
      assert.equal(store.problem, undefined)
      assert.match(store.damage ?? '', says)
      assert.match(store.damage ?? '', /moved to isr\.damaged-1$/)
      assert.equal(store.room.size().entries, 0)
      assert.equal(await store.put('a', factsOf(), Buffer.from('x')), true)
      assert.equal(store.get('a')?.status, 200)
      assert.ok((await readdir(cacheDir)).includes('isr.damaged-1'))
    })
  }

  it('is kept twice at most', async (t) => {
    const cacheDir = tempDir(t)
    for (let round = 0; round < 4; round++) {
      await makeStore(cacheDir)
      await changeSeal(cacheDir, { format: 0 })
    }
    await openStore(t, roomy(cacheDir))
    const kept = (await readdir(cacheDir)).filter((name) => name.startsWith('isr.damaged'))
    assert.deepEqual(kept.sort(), ['isr.damaged-3', 'isr.damaged-4'])
  })

  it('that was truncated to nothing is started empty in place', async (t) => {
    const cacheDir = tempDir(t)
    await makeStore(cacheDir)
    await truncate(dataOf(cacheDir), 0)
    const store = await openStore(t, roomy(cacheDir))
    assert.deepEqual([store.problem, store.damage, store.room.size().entries], [undefined, undefined, 0])
    assert.equal(await store.put('a', factsOf(), Buffer.from('x')), true)
  })

  it('that is larger than its new bound allows is deleted', async (t) => {
    const cacheDir = tempDir(t)
    const store = await EntryStore.open(roomy(cacheDir, { maxBytes: 128 << 20 }))
    await Promise.all(Array.from({ length: 48 }, (_, index) => store.put(`${index}`, factsOf(), Buffer.alloc(1 << 20))))
    await store.close()
    const small = await openStore(t, roomy(cacheDir, { maxBytes: 1 << 20 }))
    assert.match(small.damage ?? '', /larger than the settings allow/)
    assert.ok((await stat(dataOf(cacheDir))).size < 1 << 20)
    assert.equal(await small.put('a', factsOf(), Buffer.from('x')), true)
  })

  it('may be a file of that name', async (t) => {
    const cacheDir = tempDir(t)
    await writeFile(join(cacheDir, 'isr'), 'not a directory')
    const store = await openStore(t, roomy(cacheDir))
    assert.equal(await store.put('a', factsOf(), Buffer.from('x')), true)
    assert.equal(await readFile(join(cacheDir, 'isr.damaged-1'), 'utf8'), 'not a directory')
  })
})

describe('a store that is in order', () => {
  it('is warm after it was closed', async (t) => {
    const cacheDir = tempDir(t)
    await makeStore(cacheDir)
    const store = await openStore(t, roomy(cacheDir))
    assert.deepEqual([store.damage, store.problem, store.room.size().entries], [undefined, undefined, ENTRIES])
  })

  it('is warm when its file was touched but not changed', async (t) => {
    const cacheDir = tempDir(t)
    await makeStore(cacheDir)
    await utimes(dataOf(cacheDir), 1, 1)
    const store = await openStore(t, roomy(cacheDir))
    assert.deepEqual([store.damage, store.room.size().entries], [undefined, ENTRIES])
  })

  it('is warm after the machine was restarted in order', async (t) => {
    const cacheDir = tempDir(t)
    await makeStore(cacheDir)
    await changeSeal(cacheDir, { bootId: 'the boot before' })
    const store = await openStore(t, roomy(cacheDir))
    assert.deepEqual([store.damage, store.room.size().entries], [undefined, ENTRIES])
  })

  it('loses its lock file without harm', async (t) => {
    const cacheDir = tempDir(t)
    await makeStore(cacheDir)
    await writeFile(join(cacheDir, 'isr', 'lock.mdb'), Buffer.alloc(8192, 0xa7))
    const store = await openStore(t, roomy(cacheDir))
    assert.deepEqual([store.damage, store.room.size().entries], [undefined, ENTRIES])
  })
})

describe('a store in use', () => {
  it('is not in trouble, also when it is not wanted', async (t) => {
    const cacheDir = tempDir(t)
    await makeStore(cacheDir)
    const store = await openStore(t, roomy(cacheDir))
    await store.put('a', factsOf(), Buffer.from('x'))
    assert.equal(await store.trouble(), undefined)
    const none = await openStore(t, roomy(tempDir(t), { maxEntries: 0 }))
    assert.equal(await none.trouble(), undefined)
  })

  it('is in trouble when another process has found it damaged', async (t) => {
    const cacheDir = tempDir(t)
    const store = await openStore(t, roomy(cacheDir))
    await noteDamage(join(cacheDir, 'isr'), 'a page is gone')
    assert.match((await store.trouble()) ?? '', /damaged while in use/)
  })

  it('is in trouble when its files were deleted, also when there are others in their place', async (t) => {
    const cacheDir = tempDir(t)
    const store = await openStore(t, roomy(cacheDir))
    await rename(join(cacheDir, 'isr'), join(cacheDir, 'gone'))
    assert.match((await store.trouble()) ?? '', /deleted/)
    await mkdir(join(cacheDir, 'isr'))
    await writeFile(dataOf(cacheDir), '')
    assert.match((await store.trouble()) ?? '', /deleted/)
  })
})

describe('a store that cannot be opened', () => {
  async function expectOff(store: EntryStore, problem: RegExp): Promise<void> {
    assert.match(store.problem ?? '', problem)
    assert.equal(await store.put('a', factsOf(), Buffer.from('x')), false)
    assert.deepEqual([store.get('a'), store.variance('blog', '/')], [undefined, undefined])
    await store.noteReads('blog', '/', { query: true, host: true }, 0)
    assert.equal(await store.purge(purgeOf(1, { kind: 'everything' })), 0)
    assert.equal(await store.room.evict(), 0)
    assert.deepEqual(
      [store.room.size(), store.room.checkReaders(), store.room.needsEviction],
      [{ entries: 0, bytes: 0 }, 0, false],
    )
    store.touch('a')
    store.refresh()
    await store.flushed()
  }

  it('is off when its directory cannot be made', async (t) => {
    const dir = tempDir(t)
    await writeFile(join(dir, 'file'), '')
    await expectOff(await openStore(t, roomy(join(dir, 'file', 'cache'))), /ENOTDIR/)
  })

  it('is off for a process that joins before its owner', async (t) => {
    const store = await EntryStore.join(roomy(tempDir(t)))
    t.after(() => store.close())
    await expectOff(store, /not open/)
  })

  it('is a miss after it was closed', async (t) => {
    const store = await openStore(t, roomy(tempDir(t)))
    await store.put('a', factsOf(), Buffer.from('x'))
    const put = store.put('b', factsOf(), Buffer.from('x'))
    await Promise.all([store.close(), store.close()])
    assert.equal(await put, true)
    assert.equal(await store.put('c', factsOf(), Buffer.from('x')), false)
    assert.deepEqual([store.get('a'), await store.purge(purgeOf(1, { kind: 'everything' }))], [undefined, 0])
  })
})
