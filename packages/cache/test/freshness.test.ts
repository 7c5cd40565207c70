import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deadlineOf } from '../src/entries/freshness.ts'
import { ageSeconds, freshnessOf, ttlLeftMs } from '../src/index.ts'

const entry = { createdAt: 10_000, ttlMs: 1_000, swrMs: 2_000, isMarkedStale: false }

describe('freshness', () => {
  it('goes from fresh over stale to expired, each from its first millisecond on', () => {
    const at = [10_000, 10_999, 11_000, 12_999, 13_000]
    assert.deepEqual(
      at.map((now) => freshnessOf(entry, now)),
      ['fresh', 'fresh', 'stale', 'stale', 'expired'],
    )
  })

  it('has no stale time without one, and no fresh time without one', () => {
    assert.equal(freshnessOf({ ...entry, swrMs: 0 }, 11_000), 'expired')
    assert.equal(freshnessOf({ ...entry, ttlMs: 0 }, 10_000), 'stale')
    assert.equal(freshnessOf({ ...entry, ttlMs: 0, swrMs: 0 }, 10_000), 'expired')
  })

  it('never ends without a time to live, but by a mark', () => {
    const forEver = { ...entry, ttlMs: null, swrMs: 0 }
    assert.equal(freshnessOf(forEver, Number.MAX_SAFE_INTEGER), 'fresh')
    assert.equal(freshnessOf({ ...forEver, isMarkedStale: true }, 10_000), 'stale')
    assert.deepEqual([ttlLeftMs(forEver, 99_999), deadlineOf(forEver, 5)], [Number.POSITIVE_INFINITY, null])
  })

  it('ends with a mark, which does not shorten the life of an entry', () => {
    const marked = { ...entry, isMarkedStale: true }
    assert.deepEqual(
      [freshnessOf(marked, 10_000), freshnessOf(marked, 12_999), freshnessOf(marked, 13_000)],
      ['stale', 'stale', 'expired'],
    )
    assert.equal(ttlLeftMs(marked, 10_000), 0)
  })

  it('counts no negative age when the clock was set back', () => {
    assert.deepEqual([freshnessOf(entry, 9_000), ageSeconds(entry, 9_000), ttlLeftMs(entry, 9_000)], ['fresh', 0, 1_000])
  })

  it('is not known of an entry that a wrong clock has dated far ahead, unless it never ends', () => {
    const ahead = { ...entry, createdAt: 100_000, swrMs: 1e12 }
    assert.deepEqual([freshnessOf(ahead, 40_000), freshnessOf(ahead, 39_999)], ['fresh', 'expired'])
    assert.deepEqual([ttlLeftMs(ahead, 39_999), ageSeconds(ahead, 39_999)], [0, 0])
    assert.equal(freshnessOf({ ...ahead, ttlMs: null }, 0), 'fresh')
  })

  it('says age and remaining time', () => {
    assert.deepEqual([ageSeconds(entry, 10_999), ageSeconds(entry, 11_000)], [0, 1])
    assert.deepEqual([ttlLeftMs(entry, 10_250), ttlLeftMs(entry, 99_999)], [750, 0])
    assert.equal(deadlineOf(entry, 500), 13_500)
  })
})
