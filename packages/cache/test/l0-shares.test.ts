import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ResponseHead } from '@svc/http'
import { L0Cache, type L0Facts } from '../src/index.ts'
import { Heaviest } from '../src/l0/l0-room.ts'

const page: ResponseHead = { status: 200, headers: [] }
const PREFIX = 'ip'

function factsOf(label: string): L0Facts {
  const purgeables = [{ label, host: `${label}.test`, path: '/', tags: [] }]
  return { purgeables, expiresAt: Number.POSITIVE_INFINITY, dependsOnCookies: false }
}

/** A cache with room for so many entries of `put`. */
function cacheFor(entries: number): L0Cache<ResponseHead> {
  const cache = new L0Cache<ResponseHead>({ maxBytes: 1_000_000, maxEntryBytes: 100_000 }, (head) => head)
  put(cache, 'a', 1)
  const each = cache.bytes
  return new L0Cache<ResponseHead>({ maxBytes: each * entries, maxEntryBytes: 100_000 }, (head) => head)
}

const nameOf = (label: string, number: number) => `/${label}${String(number).padStart(6, '0')}`

function put(cache: L0Cache<ResponseHead>, label: string, count: number, from = 0): void {
  for (let number = from; number < from + count; number++) {
    const key = { prefix: PREFIX, target: nameOf(label, number) }
    cache.put(key, { facts: factsOf(label), head: page, body: Buffer.alloc(100) }, 0)
  }
}

/** The entries of a label that are found. */
function left(cache: L0Cache<ResponseHead>, label: string, count: number): number[] {
  return Array.from({ length: count }, (_, number) => number).filter(
    (number) => cache.find(PREFIX, nameOf(label, number), 0) !== undefined,
  )
}

describe('shares of L0', () => {
  it('evict entries of the site that fills the memory, and none of the others', () => {
    const cache = cacheFor(100)
    for (const label of ['a', 'b']) put(cache, label, 10)
    put(cache, 'f', 11_000)
    assert.deepEqual([left(cache, 'a', 10).length, left(cache, 'b', 10).length], [10, 10])
    assert.equal(left(cache, 'f', 11_000).length, 80)
    assert.equal(cache.entries, 100)
    assert.equal(cache.evictions, 10_920)
  })

  it('let a site that is alone use everything, and take back from it when another one comes', () => {
    const cache = cacheFor(100)
    put(cache, 'a', 150)
    assert.equal(left(cache, 'a', 150).length, 100)
    put(cache, 'b', 150)
    assert.deepEqual([left(cache, 'a', 150).length, left(cache, 'b', 150).length], [50, 50])
    cache.purge({ scopes: [{ kind: 'labels', labels: ['a'] }] })
    put(cache, 'b', 150, 150)
    assert.equal(left(cache, 'b', 300).length, 100)
  })

  it('follow the weights, also when these change', () => {
    const cache = cacheFor(100)
    cache.setWeights(new Map([['b', 3]]))
    for (const label of ['a', 'b', 'a', 'b']) put(cache, label, 100)
    assert.deepEqual([left(cache, 'a', 100).length, left(cache, 'b', 100).length], [25, 75])
    cache.setWeights(new Map())
    put(cache, 'a', 100)
    assert.deepEqual([left(cache, 'a', 100).length, left(cache, 'b', 100).length], [50, 50])
  })

  it('evict what a site did not use for the longest time', () => {
    const cache = cacheFor(10)
    put(cache, 'a', 3)
    put(cache, 'b', 7)
    for (const number of [0, 2]) cache.find(PREFIX, nameOf('b', number), 0)
    put(cache, 'b', 3, 7)
    assert.deepEqual(left(cache, 'b', 10), [0, 2, 5, 6, 7, 8, 9])
    assert.deepEqual(left(cache, 'a', 3), [0, 1, 2])
  })

  it('count an entry for the site that it belongs to now', () => {
    const cache = cacheFor(10)
    const key = { prefix: PREFIX, target: '/same' }
    const body = Buffer.alloc(100)
    cache.put(key, { facts: factsOf('a'), head: page, body }, 0)
    cache.put(key, { facts: factsOf('b'), head: page, body }, 0)
    assert.equal(cache.entries, 1)
    assert.equal(cache.purge({ scopes: [{ kind: 'labels', labels: ['a'] }] }), 0)
    assert.equal(cache.purge({ scopes: [{ kind: 'labels', labels: ['b'] }] }), 1)
    assert.deepEqual([cache.entries, cache.bytes], [0, 0])
  })
})

describe('the heaviest item', () => {
  it('is always on top after entries are added, changed and removed', () => {
    const heap = new Heaviest<{ level: number; place: number }>()
    const items = Array.from({ length: 60 }, (_, index) => ({ level: (index * 37) % 60, place: -1 }))
    const present = new Set<(typeof items)[number]>()
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return seed % below
    }
    for (let step = 0; step < 5_000; step++) {
      const item = items[random(60)] ?? assert.fail('no item')
      if (random(3) === 0) {
        heap.remove(item)
        present.delete(item)
      } else {
        item.level = random(1_000)
        heap.update(item)
        present.add(item)
      }
      const highest = [...present].reduce((most, { level }) => Math.max(most, level), -1)
      assert.equal(heap.top?.level ?? -1, highest)
    }
  })
})
