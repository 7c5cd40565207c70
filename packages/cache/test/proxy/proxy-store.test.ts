import assert from 'node:assert/strict'
import { rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '@svc/core'
import { PROCESS_WAIT_MS, tempDir, waitFor } from '@svc/testkit'
import { ProxyStore, type PurgeScope } from '../../src/index.ts'
import { addressOf, bodyOf, filesOf, openProxyStore, put } from './proxy-fixture.ts'

const LARGE = 100_000
const large = (text: string) => Buffer.from(text.repeat(LARGE / text.length))

function purge(number: number, ...scopes: readonly PurgeScope[]) {
  return { number, layers: ['proxy'], scopes, mode: 'drop' } as const
}

describe('responses of upstreams', () => {
  test('lie in the store when they are short, else in files', async (t) => {
    const dir = tempDir(t)
    const store = await openProxyStore(t, dir)
    assert.ok(await put(store, '/short', Buffer.from('short')))
    assert.ok(await put(store, '/long', large('long')))
    assert.equal(await bodyOf(store, '/short'), 'short')
    assert.equal(await bodyOf(store, '/long'), 'long'.repeat(LARGE / 4))
    assert.equal(filesOf(dir).bodies.length, 1)
    assert.ok(store.entries.room.size().bytes > LARGE)
    assert.equal(await bodyOf(store, '/other'), undefined)
    assert.equal(await bodyOf(store, '/short', { host: 'b.org' }), undefined)
  })

  test('outlive a restart', async (t) => {
    const dir = tempDir(t)
    const first = await openProxyStore(t, dir)
    await put(first, '/short', Buffer.from('short'))
    await put(first, '/long', large('long'))
    await first.entries.close()
    const second = await openProxyStore(t, dir)
    assert.equal(second.entries.damage, undefined)
    assert.equal(await bodyOf(second, '/short'), 'short')
    assert.equal((await bodyOf(second, '/long'))?.length, LARGE)
  })

  test('that another process stored are seen from the next turn of the event loop on, or after a refresh', async (t) => {
    const dir = tempDir(t)
    const master = await openProxyStore(t, dir)
    const worker = await ProxyStore.join({ cacheDir: dir, maxBytes: 64 << 20, clock: systemClock, onProblem: assert.fail })
    t.after(() => worker.entries.close())
    const isFound = (target: string) => worker.find(addressOf(target), []).found !== undefined
    assert.equal(isFound('/a'), false)
    await put(master, '/a', Buffer.from('a'))
    await nextTurn()
    assert.equal(isFound('/a'), true)
    assert.equal(isFound('/b'), false)
    await put(master, '/b', Buffer.from('b'))
    worker.entries.refresh()
    assert.equal(isFound('/b'), true)
  })

  test('are a miss when their file is missing or truncated', async (t) => {
    const dir = tempDir(t)
    const store = await openProxyStore(t, dir)
    await put(store, '/gone', large('gone'))
    const [gone = ''] = filesOf(dir).bodies
    rmSync(join(dir, 'proxy/bodies', gone))
    await put(store, '/cut', large('cut!'))
    const [cut = ''] = filesOf(dir).bodies
    truncateSync(join(dir, 'proxy/bodies', cut), 5)
    assert.deepEqual([await bodyOf(store, '/gone'), await bodyOf(store, '/cut')], [undefined, undefined])
  })

  test('take the file with them that they had', async (t) => {
    const dir = tempDir(t)
    const store = await openProxyStore(t, dir)
    await put(store, '/a', large('old!'))
    await put(store, '/a', large('new!'))
    await waitFor('the old file goes', () => filesOf(dir).bodies.length === 1, PROCESS_WAIT_MS)
    assert.equal((await bodyOf(store, '/a'))?.slice(0, 4), 'new!')
    await put(store, '/a', Buffer.from('short'))
    await waitFor('the last file goes', () => filesOf(dir).bodies.length === 0, PROCESS_WAIT_MS)
    assert.equal(await bodyOf(store, '/a'), 'short')
  })
})

describe('the bound of the proxy store', () => {
  test('counts files, and those that were not used for the longest time go', async (t) => {
    const dir = tempDir(t)
    const store = await openProxyStore(t, dir, 1 << 20)
    for (let index = 0; index < 40; index++) assert.ok(await put(store, `/${index}`, large('file')))
    assert.ok(store.entries.room.size().bytes <= 1 << 20, `${store.entries.room.size().bytes} bytes`)
    await store.entries.room.evict()
    const { entries } = store.entries.room.size()
    assert.ok(entries >= 8 && entries <= 10, `${entries} entries`)
    await waitFor('the files go', () => filesOf(dir).bodies.length === entries, PROCESS_WAIT_MS)
    assert.equal(await bodyOf(store, '/0'), undefined)
    assert.equal((await bodyOf(store, '/39'))?.length, LARGE)
  })

  test('is kept by one long body in the place of many short ones', async (t) => {
    const store = await openProxyStore(t, tempDir(t), 1 << 20)
    for (let index = 0; index < 300; index++) await put(store, `/${index}`, Buffer.alloc(4_000))
    assert.ok(await put(store, '/long', Buffer.alloc(250_000)))
    assert.ok(store.entries.room.size().bytes <= 1 << 20, `${store.entries.room.size().bytes} bytes`)
    assert.equal((await bodyOf(store, '/long'))?.length, 250_000)
  })

  test('leaves no room for a body that would push out everything', async (t) => {
    const store = await openProxyStore(t, tempDir(t), 1 << 20)
    assert.equal(store.maxBodyBytes, 1 << 18)
    const off = await openProxyStore(t, tempDir(t), 0)
    assert.equal(off.maxBodyBytes, 0)
    assert.equal(await put(off, '/a', Buffer.from('a')), false)
  })
})

describe('variants of a response', () => {
  test('are found by what their requests said', async (t) => {
    const store = await openProxyStore(t, tempDir(t))
    for (const foo of ['1', '2']) await put(store, '/a', Buffer.from(foo), { request: [['foo', foo]], vary: ['foo'] })
    assert.equal(await bodyOf(store, '/a', { request: [['foo', '1']] }), '1')
    assert.equal(await bodyOf(store, '/a', { request: [['foo', ' 2 ']] }), '2')
    assert.equal(await bodyOf(store, '/a', { request: [['foo', '3']] }), undefined)
    assert.equal(await bodyOf(store, '/a'), undefined)
  })

  test('give way to the newest when what they depend on has changed', async (t) => {
    const store = await openProxyStore(t, tempDir(t))
    await put(store, '/a', Buffer.from('by foo'), { request: [['foo', '1']], vary: ['foo'] })
    await put(store, '/a', Buffer.from('for all'))
    assert.equal(await bodyOf(store, '/a', { request: [['foo', '1']] }), 'for all')
    await put(store, '/a', Buffer.from('by bar'), { request: [['bar', '1']], vary: ['bar'] })
    assert.equal(await bodyOf(store, '/a', { request: [['bar', '1']] }), 'by bar')
    assert.equal(await bodyOf(store, '/a', { request: [['foo', '1']] }), undefined)
  })

  test('are bounded in number', async (t) => {
    const store = await openProxyStore(t, tempDir(t))
    for (let index = 0; index < 200; index++) {
      await put(store, '/a', Buffer.from(String(index)), { request: [['foo', String(index)]], vary: ['foo'] })
    }
    assert.ok(store.entries.room.size().entries <= 65, `${store.entries.room.size().entries} entries`)
    assert.equal(await bodyOf(store, '/a', { request: [['foo', '199']] }), '199')
  })
})

describe('a purge of the proxy store', () => {
  async function filled(t: Parameters<typeof openProxyStore>[0], dir: string) {
    const store = await openProxyStore(t, dir)
    for (const host of ['a.org', 'b.org', 'a.org.evil']) {
      for (const target of ['/', '/a', '/a?q=1', '/a/b', '/ab']) await put(store, target, Buffer.from(target), { host, seq: 5 })
    }
    await put(store, '/a', large('vary'), { request: [['foo', '1']], vary: ['foo'], seq: 5 })
    return store
  }

  const cases: Readonly<Record<string, readonly [number, PurgeScope]>> = {
    'of a host takes nothing of others': [6, { kind: 'hosts', hosts: ['a.org'] }],
    'of a path takes all queries and variants': [3, { kind: 'paths', paths: ['/a'], hosts: ['a.org'] }],
    'of a path on all hosts': [7, { kind: 'paths', paths: ['/a'], hosts: null }],
    'of a prefix': [5, { kind: 'prefixes', prefixes: ['/a'], hosts: ['a.org'] }],
    'of a prefix that ends with a slash': [1, { kind: 'prefixes', prefixes: ['/a/'], hosts: ['a.org'] }],
    'of a URI takes its variants, and no other query': [2, { kind: 'uris', uris: ['http://a.org/a'] }],
    'of a label': [16, { kind: 'labels', labels: ['site'] }],
    'of everything': [16, { kind: 'everything' }],
    'of a tag never takes URIs': [0, { kind: 'tags', tags: ['route:site:/a'] }],
    'of a pattern over tags': [16, { kind: 'pattern', pattern: 'route:site:*', labels: null }],
  }
  for (const [name, [count, scope]] of Object.entries(cases)) {
    test(name, async (t) => {
      const store = await filled(t, tempDir(t))
      assert.equal(await store.entries.purge(purge(6, scope)), count)
    })
  }

  test('takes the files once it has been cleared up', async (t) => {
    const dir = tempDir(t)
    const store = await filled(t, dir)
    assert.equal(filesOf(dir).bodies.length, 1)
    await store.entries.purge(purge(6, { kind: 'hosts', hosts: ['a.org'] }))
    assert.equal(await bodyOf(store, '/a', { request: [['foo', '1']] }), undefined)
    await store.entries.room.evict()
    await waitFor('the file goes', () => filesOf(dir).bodies.length === 0, PROCESS_WAIT_MS)
  })

  test('leaves fills that began after it, and purges of other layers', async (t) => {
    const store = await filled(t, tempDir(t))
    assert.equal(await store.entries.purge(purge(5, { kind: 'everything' })), 0)
    assert.equal(await store.entries.purge({ ...purge(6, { kind: 'everything' }), layers: ['isr', 'l0'] }), 0)
  })
})

describe('files that belong to nothing', () => {
  test('are deleted by the next owner, and no others', async (t) => {
    const dir = tempDir(t)
    const first = await openProxyStore(t, dir)
    await put(first, '/kept', large('kept'))
    const orphan = await first.files.begin('blog')
    await orphan.write(large('lost'), 0)
    await orphan.commit('of no entry')
    await orphan.close()
    const open = await first.files.begin('blog')
    await open.write(large('part'), 0)
    await first.entries.close()
    assert.deepEqual([filesOf(dir).bodies.length, filesOf(dir).incoming.length], [2, 1])
    for (const name of filesOf(dir).bodies) utimesSync(join(dir, 'proxy/bodies', name), 1, 1)
    const second = await openProxyStore(t, dir)
    assert.deepEqual(filesOf(dir).incoming, [])
    assert.equal(await second.sweepFiles(), 1)
    assert.equal(filesOf(dir).bodies.length, 1)
    assert.equal((await bodyOf(second, '/kept'))?.length, LARGE)
    await open.close()
  })

  test('are not looked for in a store that is closed', async (t) => {
    const dir = tempDir(t)
    const store = await openProxyStore(t, dir)
    await put(store, '/a', large('data'))
    for (const name of filesOf(dir).bodies) utimesSync(join(dir, 'proxy/bodies', name), 1, 1)
    await store.entries.close()
    assert.equal(await store.sweepFiles(), 0)
    assert.equal(filesOf(dir).bodies.length, 1)
  })

  test('go with a store that was damaged', async (t) => {
    const dir = tempDir(t)
    const first = await openProxyStore(t, dir)
    await put(first, '/a', large('data'))
    await first.entries.close()
    writeFileSync(join(dir, 'proxy/store.json'), 'nonsense')
    const second = await openProxyStore(t, dir)
    assert.match(second.entries.damage ?? '', /moved to proxy\.damaged-1/)
    assert.equal(await bodyOf(second, '/a'), undefined)
    assert.deepEqual(filesOf(dir).bodies, [])
  })
})

test('bodies on their way of one site leave room for those of another', async (t) => {
  const store = await openProxyStore(t, tempDir(t), 2_000_000)
  const flood = await Promise.all(Array.from({ length: 12 }, () => store.files.begin('flood')))
  const taken: boolean[] = []
  for (const body of flood) taken.push(await body.write(Buffer.alloc(100_000), 0))
  assert.equal(taken.filter(Boolean).length, 8)
  const other = await store.files.begin('other')
  assert.equal(await other.write(Buffer.alloc(100_000), 0), true)
  await Promise.all([...flood, other].map((body) => body.close()))
  const alone = await store.files.begin('other')
  assert.equal(await alone.write(Buffer.alloc(500_000), 0), true)
  await alone.close()
})

test('a site that fills the cache evicts its own answers, with their files, and none of another site', async (t) => {
  const dir = tempDir(t)
  const store = await openProxyStore(t, dir, 2_000_000)
  for (const target of ['/1', '/2', '/3']) await put(store, target, large(target), { host: 'quiet.org', label: 'quiet' })
  for (let target = 0; target < 60; target++)
    await put(store, `/${target}`, large(`${target}`), { host: 'flood.org', label: 'flood' })
  await store.entries.room.evict()
  const kept = await Promise.all(['/1', '/2', '/3'].map((target) => bodyOf(store, target, { host: 'quiet.org', label: 'quiet' })))
  assert.ok(kept.every((body) => body !== undefined))
  const [flood, quiet] = ['flood', 'quiet'].map((label) => store.entries.room.usages().find((usage) => usage.label === label))
  assert.ok(store.entries.room.size().bytes <= 2_000_000 && (flood?.evictions ?? 0) > 0 && quiet?.evictions === 0)
  const entries = (flood?.entries ?? 0) + (quiet?.entries ?? 0)
  await waitFor('the files of evicted entries are deleted', () => filesOf(dir).bodies.length === entries, PROCESS_WAIT_MS)
})
