import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HeaderList, ResponseHead } from '@svc/http'
import { L0Cache, type L0Facts, l0KeyPrefix, type Purge, type PurgeScope, pathTag } from '../src/index.ts'

const asIs = (head: ResponseHead): ResponseHead => head
const P = 'ip'
const keyOf = (target: string) => ({ prefix: P, target })
const page: ResponseHead = { status: 200, headers: [['content-type', 'text/html']] }

interface Place {
  readonly host?: string
  readonly path?: string
  readonly tags?: readonly string[]
}

function factsOf(label: string, { host = `${label}.test`, path = '/', tags = [] }: Place = {}): L0Facts {
  const purgeables = [{ label, host, path, tags: [pathTag(label, path), ...tags] }]
  return { purgeables, expiresAt: Number.POSITIVE_INFINITY, dependsOnCookies: false }
}

const cacheOf = (maxBytes = 1_000_000, maxEntryBytes = 100_000) => new L0Cache<ResponseHead>({ maxBytes, maxEntryBytes }, asIs)

const purgeOf = (...scopes: PurgeScope[]): Purge => ({ number: 1, layers: ['l0'], mode: 'drop', scopes })

function store(cache: L0Cache<ResponseHead>, key: string, facts: L0Facts, bytes = 10): boolean {
  return cache.put(keyOf(key), { facts, head: page, body: Buffer.alloc(bytes) }, 0)
}

test('keys tell encodings, schemes and hosts apart', () => {
  const origin = { scheme: 'http', host: 'a.test' } as const
  const prefixes = [
    l0KeyPrefix(origin, 'br'),
    l0KeyPrefix(origin, 'gzip'),
    l0KeyPrefix({ ...origin, scheme: 'https' }, 'br'),
    l0KeyPrefix({ ...origin, host: 'a.test:8080' }, 'br'),
  ]
  assert.equal(new Set(prefixes).size, 4)
})

test('a response above the entry limit is not cached', () => {
  const cache = cacheOf(1_000_000, 50)
  assert.equal(store(cache, 'a', factsOf('a'), 51), false)
  assert.equal(store(cache, 'a', factsOf('a'), 50), true)
  const tiny = cacheOf(100, 50)
  assert.equal(store(tiny, 'a', factsOf('a'), 50), false, 'larger than everything')
  assert.equal(tiny.entries, 0)
})

test('bytes stay within the bound and the least recently used go first', () => {
  const cache = cacheOf(50_000)
  for (let i = 0; i < 100; i++) {
    store(cache, `k${i}`, factsOf('a', { path: `/${i}` }), 1000)
    cache.find(P, 'k0', 0)
  }
  assert.ok(cache.bytes <= 50_000)
  assert.ok(cache.entries > 5 && cache.entries < 50)
  assert.equal(cache.entries + cache.evictions, 100)
  assert.ok(cache.find(P, 'k0', 0), 'used all the time')
  assert.equal(cache.find(P, 'k1', 0), undefined)
  assert.equal(cache.purge(purgeOf({ kind: 'labels', labels: ['a'] })), 100 - cache.evictions, 'evicted ones left the index too')
  assert.equal(cache.bytes, 0)
})

test('a replaced entry is counted once', () => {
  const cache = cacheOf()
  store(cache, 'a', factsOf('a'), 10)
  const { bytes } = cache
  store(cache, 'a', factsOf('a'), 20)
  assert.equal(cache.entries, 1)
  assert.equal(cache.bytes, bytes + 10)
  assert.equal(cache.evictions, 0)
  assert.equal(cache.purge(purgeOf({ kind: 'everything' })), 1)
})

test('an entry ends when it is no longer fresh, and its successor enters at the first request', () => {
  const cache = cacheOf()
  cache.put(keyOf('a'), { facts: { ...factsOf('a'), expiresAt: 5_000 }, head: page, body: Buffer.alloc(1) }, 0)
  assert.ok(cache.find(P, 'a', 4_999))
  assert.equal(cache.find(P, 'a', 5_000), undefined)
  assert.equal(cache.entries, 0)
  assert.equal(cache.isWanted(keyOf('a'), 5_001), true)
})

test('an entry is asked whether it still holds at most once a second', () => {
  const cache = cacheOf()
  let asked = 0
  let isCurrent = true
  const facts = {
    ...factsOf('a'),
    isCurrent: () => {
      asked++
      return isCurrent
    },
  }
  cache.put(keyOf('a'), { facts, head: page, body: Buffer.alloc(1) }, 0)
  for (let now = 0; now < 1000; now += 10) assert.ok(cache.find(P, 'a', now))
  assert.equal(asked, 0)
  for (let now = 1000; now < 2000; now += 10) assert.ok(cache.find(P, 'a', now))
  assert.equal(asked, 1)
  isCurrent = false
  assert.equal(cache.find(P, 'a', 2000), undefined)
  assert.equal(cache.entries, 0)
})

test('a key may enter at its second request within the window', () => {
  const cache = cacheOf()
  assert.equal(cache.isWanted(keyOf('a'), 0), false)
  assert.equal(cache.isWanted(keyOf('b'), 0), false)
  assert.equal(cache.isWanted(keyOf('a'), 9_999), true)
  assert.equal(cache.isWanted(keyOf('b'), 10_001), false, 'too late')
})

test('a flood of different keys lets nothing in, while a popular key still enters', () => {
  const cache = cacheOf()
  let admitted = 0
  let isHotWanted = false
  for (let i = 0; i < 200_000; i++) {
    if (cache.isWanted(keyOf(`/?q=${i}`), i / 100)) admitted++
    if (i % 1000 < 2) isHotWanted ||= cache.isWanted(keyOf('/hot'), i / 100)
  }
  assert.ok(admitted < 200, `${admitted} of 200000 keys passed for others`)
  assert.equal(isHotWanted, true)
})

const fieldsOf = (headers: HeaderList): Record<string, string> => Object.fromEntries(headers)

test('a response of the ISR grows older by the second, and its head is made no oftener', () => {
  let made = 0
  const cache = new L0Cache<ResponseHead>({ maxBytes: 1e6, maxEntryBytes: 1e5 }, (head) => {
    made++
    return head
  })
  const headers: HeaderList = [
    ['ETag', '"x"'],
    ['Age', '7'],
    ['Cache-Control', 'public, max-age=0, s-maxage=41, stale-while-revalidate=60'],
    ['Cache-Status', 'svc-isr; hit; ttl=41'],
    ['Content-Type', 'text/html'],
  ]
  cache.put(
    keyOf('a'),
    { facts: { ...factsOf('a'), expiresAt: 41_000 }, head: { status: 200, headers }, body: Buffer.alloc(1) },
    100,
  )
  const after = made
  for (let now = 100; now < 1_100; now += 50) cache.find(P, 'a', now)
  assert.equal(made, after)
  const entry = cache.find(P, 'a', 3_200)
  assert.ok(entry)
  assert.deepEqual(fieldsOf(entry.block.headers), {
    ETag: '"x"',
    'Cache-Control': 'public, max-age=0, s-maxage=38, stale-while-revalidate=60',
    'Content-Type': 'text/html',
    age: '10',
    'cache-status': 'svc-l0; hit',
  })
  assert.equal(entry.notModified.status, 304)
  const notModified = fieldsOf(entry.notModified.headers)
  assert.equal(notModified['Content-Type'], undefined)
  assert.equal(notModified['age'], '10')
  assert.equal(notModified['ETag'], '"x"')
})

test('a file has no age', () => {
  const cache = cacheOf()
  const headers: HeaderList = [['cache-control', 'public, max-age=0, must-revalidate']]
  cache.put(keyOf('a'), { facts: factsOf('a'), head: { status: 200, headers }, body: Buffer.alloc(1) }, 0)
  assert.equal(fieldsOf(cache.find(P, 'a', 9_000)?.block.headers ?? [])['age'], undefined)
})

const places: ReadonlyArray<readonly [key: string, label: string, place: Place]> = [
  ['1', 'shop', { path: '/' }],
  ['2', 'shop', { path: '/blog/a', tags: ['route:shop:/blog/[slug]', 'route:shop:posts'] }],
  ['3', 'shop', { path: '/blog/a', host: 'www.shop.test', tags: ['route:shop:/blog/[slug]', 'route:shop:posts'] }],
  ['4', 'shop', { path: '/blog/b/', tags: ['route:shop:/blog/[slug]'] }],
  ['5', 'docs', { path: '/blog/a', tags: ['route:docs:posts'] }],
  ['6', 'docs', { path: '/a/b/c/d/e/f/g/h/i/j', tags: [] }],
]

const purges: ReadonlyArray<readonly [scopes: PurgeScope[], gone: string]> = [
  [[], ''],
  [[{ kind: 'everything' }], '123456'],
  [[{ kind: 'labels', labels: ['docs'] }], '56'],
  [[{ kind: 'hosts', hosts: ['www.shop.test'] }], '3'],
  [[{ kind: 'tags', tags: ['route:shop:posts'] }], '23'],
  [[{ kind: 'tags', tags: ['route:shop:/blog/b'] }], '4'],
  [[{ kind: 'pattern', pattern: 'route:*:posts', labels: null }], '235'],
  [[{ kind: 'pattern', pattern: 'route:*:posts', labels: ['docs'] }], '5'],
  [[{ kind: 'pattern', pattern: 'route:shop:/blog/*', labels: null }], '234'],
  [[{ kind: 'pattern', pattern: 'route:s*', labels: null }], '1234'],
  [[{ kind: 'paths', paths: ['/blog/a'], hosts: null }], '235'],
  [[{ kind: 'paths', paths: ['/blog/b'], hosts: null }], '4'],
  [[{ kind: 'paths', paths: ['/blog/a'], hosts: ['shop.test'] }], '2'],
  [[{ kind: 'prefixes', prefixes: ['/blog/'], hosts: ['shop.test'] }], '24'],
  [[{ kind: 'prefixes', prefixes: ['/bl'], hosts: ['docs.test', 'www.shop.test'] }], '35'],
  [[{ kind: 'prefixes', prefixes: ['/'], hosts: ['shop.test'] }], '124'],
  [[{ kind: 'prefixes', prefixes: ['/a/b/c/d/e/f/g/h/i/'], hosts: ['docs.test'] }], '6'],
  [[{ kind: 'prefixes', prefixes: ['/a/b/c/d/e/f/g/h/x/'], hosts: ['docs.test'] }], ''],
  [
    [
      { kind: 'labels', labels: ['docs'] },
      { kind: 'paths', paths: ['/blog/a'], hosts: null },
    ],
    '2356',
  ],
]

for (const [scopes, gone] of purges) {
  test(`a purge of ${JSON.stringify(scopes)} that is bound to a label drops nothing of others`, () => {
    const cache = cacheOf()
    for (const [key, label, place] of places) store(cache, key, factsOf(label, place))
    const own = places.filter(([key, label]) => label === 'docs' && gone.includes(key)).map(([key]) => key)
    assert.equal(cache.purge({ ...purgeOf(...scopes), labels: ['docs'] }), own.length)
    const left = places.map(([key]) => key).filter((key) => cache.find(P, key, 0) !== undefined)
    assert.deepEqual(
      left,
      places.map(([key]) => key).filter((key) => !own.includes(key)),
    )
  })

  test(`a purge of ${JSON.stringify(scopes)} drops ${gone === '' ? 'nothing' : gone}`, () => {
    const cache = cacheOf()
    for (const [key, label, place] of places) store(cache, key, factsOf(label, place))
    assert.equal(cache.purge(purgeOf(...scopes)), gone.length)
    const left = places.map(([key]) => key).filter((key) => cache.find(P, key, 0) !== undefined)
    assert.equal(
      left.join(''),
      places
        .map(([key]) => key)
        .filter((key) => !gone.includes(key))
        .join(''),
    )
    assert.equal(cache.entries, left.length)
  })
}

test('an entry under two paths goes with either', () => {
  const cache = cacheOf()
  const purgeables = [...factsOf('a', { path: '/asked' }).purgeables, ...factsOf('a', { path: '/served' }).purgeables]
  for (const path of ['/asked', '/served']) {
    store(cache, 'k', { purgeables, expiresAt: Number.POSITIVE_INFINITY, dependsOnCookies: false })
    assert.equal(cache.purge(purgeOf({ kind: 'paths', paths: [path], hosts: null })), 1)
  }
  store(cache, 'k', { purgeables, expiresAt: Number.POSITIVE_INFINITY, dependsOnCookies: false })
  assert.equal(cache.purge(purgeOf({ kind: 'labels', labels: ['a'] })), 1, 'and is counted once')
})

test('fields that count from the creation of a response do not change as it ages', () => {
  const cache = cacheOf()
  const headers: HeaderList = [
    ['cache-control', 's-maxage=60'],
    ['age', '5'],
  ]
  const facts = { ...factsOf('a'), expiresAt: 55_000, keepsLifetime: true }
  cache.put(keyOf('a'), { facts, head: { status: 200, headers }, body: Buffer.alloc(1) }, 0)
  const fields = Object.fromEntries(cache.find(P, 'a', 3_000)?.block.headers ?? [])
  assert.deepEqual([fields['cache-control'], fields['age']], ['s-maxage=60', '8'])
  assert.equal(cache.find(P, 'a', 55_000), undefined)
})

test('a purge of a URI takes what was made of its answers, and nothing else', () => {
  const cache = cacheOf()
  for (const path of ['/x', '/y']) store(cache, path, factsOf('a', { path, tags: [`uri:http://a.test${path}`] }))
  const purge = { ...purgeOf({ kind: 'uris', uris: ['http://a.test/x'] }), layers: ['proxy'] } as const
  assert.equal(cache.purge(purge), 1)
  assert.deepEqual([cache.find(P, '/x', 0), cache.find(P, '/y', 0)?.name], [undefined, `${P}/y`])
})
