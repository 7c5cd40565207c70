import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeakyBuckets, tableEntryBytes } from '../src/index.ts'

test('the excess grows with each request and falls with the rate', () => {
  const buckets = new LeakyBuckets(10_000)
  assert.equal(buckets.excessOf('a', 1000, 0), 0)
  buckets.count('a', 0, 0)
  assert.equal(buckets.excessOf('a', 1000, 0), 1000)
  buckets.count('a', 1000, 0)
  assert.equal(buckets.excessOf('a', 1000, 1500), 500)
  assert.equal(buckets.excessOf('a', 1000, 60_000), 0)
  assert.equal(buckets.excessOf('b', 1000, 0), 0)
})

test('the least recently used buckets are dropped when there is no more room', () => {
  const buckets = new LeakyBuckets(100 * tableEntryBytes('key'))
  for (let i = 0; i < 1_000; i++) {
    buckets.count(`key ${i}`, 1000, 0)
    // It is refused, and used all the same.
    assert.equal(buckets.excessOf('key 0', 1000, 0), 2000)
  }
  assert.equal(buckets.size, 100)
  buckets.count('x'.repeat(48 + 50 * tableEntryBytes('')), 0, 0)
  assert.ok(buckets.size < 60, `${buckets.size} buckets`)
  for (let i = 0; i < 3; i++) buckets.count(`key ${i}`, 0, 0)
  buckets.resize(2 * tableEntryBytes('key'))
  assert.equal(buckets.size, 2)
})
