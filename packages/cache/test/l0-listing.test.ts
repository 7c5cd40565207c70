import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResponseHead } from '@svc/http'
import { L0Cache, type L0Facts, type L0Query, listL0, pathTag } from '../src/index.ts'

const head: ResponseHead = { status: 200, headers: [] }
const prefix = 'ipa.test'

function factsOf(label: string, path: string, tags: readonly string[] = []): L0Facts {
  const purgeables = [{ label, host: 'a.test', path, tags: [pathTag(label, path), ...tags] }]
  return { purgeables, expiresAt: Number.POSITIVE_INFINITY, dependsOnCookies: false }
}

function cacheWith(count: number, labelOf: (index: number) => string = () => 'shop') {
  const cache = new L0Cache<ResponseHead>({ maxBytes: 1 << 30, maxEntryBytes: 1000 }, (made) => made)
  const put = (path: string, label = 'shop', tags: readonly string[] = []) =>
    cache.put({ prefix, target: path }, { facts: factsOf(label, path, tags), head, body: Buffer.alloc(0) }, 0)
  for (let i = 0; i < count; i++) put(`/${i}`, labelOf(i), [`route:${labelOf(i)}:n${i % 5}`])
  const purge = (path: string) => cache.purge({ scopes: [{ kind: 'paths', paths: [path], hosts: null }] })
  return { cache, put, purge }
}

/** The targets of all pages. */
async function allOf(
  cache: L0Cache<ResponseHead>,
  query: Partial<L0Query>,
  onPage: () => void = () => undefined,
): Promise<string[]> {
  const targets: string[] = []
  const limit = query.limit ?? 500
  for (let after = ''; ; ) {
    const { entries, until } = await listL0(cache, { ...query, limit, after })
    assert.ok(entries.length <= limit)
    targets.push(...entries.map(({ key }) => key.target))
    if (until === undefined) return targets
    assert.ok(until > after)
    after = until
    onPage()
  }
}

test('every one of 100,000 entries is listed once, while entries come, go and are replaced between pages and within', async () => {
  const { cache, put, purge } = cacheWith(100_000)
  let pages = 0
  const change = () => {
    put(`/new${pages}`)
    purge(`/new${pages - 5}`)
    purge(`/${pages}`)
    put(`/${50_000 + pages}`)
  }
  const listing = allOf(cache, { limit: 4_000 }, () => {
    pages++
    change()
    // In the midst of the next page, when it rests.
    setImmediate(change)
  })
  const times = new Map<string, number>()
  for (const target of await listing) times.set(target, (times.get(target) ?? 0) + 1)
  assert.ok(pages >= 24 && pages <= 26, `${pages}`)
  assert.deepEqual(
    [...times].filter(([, seen]) => seen > 1),
    [],
  )
  const missing = Array.from({ length: 100_000 }, (_, index) => `/${index}`).filter((target) => !times.has(target))
  assert.ok(
    missing.every((target) => Number(target.slice(1)) <= 26),
    missing.join(' '),
  )
})

test('an entry that is replaced while a page is made is on it once, and one that goes is not', async () => {
  const { cache, put, purge } = cacheWith(50_000)
  setImmediate(() => {
    put('/0')
    purge('/1')
    put('/last')
  })
  const targets = await allOf(cache, { limit: 100_000 })
  assert.deepEqual(
    ['/0', '/1', '/last'].map((target) => targets.filter((one) => one === target).length),
    [1, 0, 1],
  )
  assert.equal(targets.length, 50_000)
})

test('entries are selected by label, tag and prefix', async () => {
  const { cache } = cacheWith(100, (index) => (index % 2 === 0 ? 'shop' : 'blog'))
  const sorted = async (query: Partial<L0Query>) => (await allOf(cache, { limit: 3, ...query })).toSorted()
  assert.equal((await sorted({})).length, 100)
  assert.equal((await sorted({ labels: ['blog'] })).length, 50)
  assert.deepEqual(await sorted({ labels: [] }), [])
  assert.deepEqual(await sorted({ prefix: '/9', labels: ['shop'] }), ['/90', '/92', '/94', '/96', '/98'])
  assert.deepEqual(await sorted({ tags: ['route:shop:n0', 'route:blog:/7'], prefix: '/' }), [
    '/0',
    '/10',
    '/20',
    '/30',
    '/40',
    '/50',
    '/60',
    '/7',
    '/70',
    '/80',
    '/90',
  ])
})

test('an entry counts the responses that it gave, and is looked up by its name without one', () => {
  const { cache, put } = cacheWith(1)
  for (let i = 0; i < 3; i++) assert.ok(cache.find(prefix, '/0', 0))
  assert.equal(cache.look(`${prefix}/0`)?.hits, 3)
  assert.equal(cache.look(`${prefix}/0`)?.hits, 3)
  put('/0')
  assert.equal(cache.look(`${prefix}/0`)?.hits, 0)
  for (const name of ['', '/', prefix, `${prefix}/1`, '/0']) assert.equal(cache.look(name), undefined, name)
})
