import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '@svc/testkit'
import { LimitZones } from '../src/limits/limit-zones.ts'

const zone = (name: string, rate: number | undefined, key = 'a') => {
  const maxBytes = 32_768
  return { name, id: `${name} ${key}`, key: [key], maxBytes, rate }
}
const both = [zone('slow', 1000), zone('fast', 10_000), zone('open', undefined)]
const limit = (of: string, burst = 0, delay = 0, key = 'k') => ({ zone: `${of} a`, key, burst, delay })

test('a request that one limit refuses is counted by none', () => {
  const zones = new LimitZones(() => both, new ManualClock())
  assert.deepEqual(zones.admit([limit('slow'), limit('fast', 5000)]), { refusedBy: -1, excess: 0, delayMs: 0 })
  for (let i = 0; i < 10; i++)
    assert.deepEqual(zones.admit([limit('fast', 5000), limit('slow')]), { refusedBy: 1, excess: 1000, delayMs: 0 })
  // The second one in it.
  assert.deepEqual(zones.admit([limit('fast', 5000)]), { refusedBy: -1, excess: 0, delayMs: 100 })
})

test('a request waits for the longest of its delays', async () => {
  const clock = new ManualClock()
  const zones = new LimitZones(() => both, clock)
  const limits = [limit('slow', 3000, 1000), limit('fast', 9000)]
  assert.deepEqual(
    [1, 2, 3, 4, 5].map(() => zones.admit(limits)).map(({ refusedBy, delayMs }) => [refusedBy, delayMs]),
    [
      [-1, 0],
      [-1, 100],
      [-1, 1000],
      [-1, 2000],
      [0, 0],
    ],
  )
  clock.advance(1000)
  assert.equal(zones.admit(limits).refusedBy, -1)
})

test('a reload keeps the counts of zones that stay, and an unknown zone is told', () => {
  let served = both
  const zones = new LimitZones(() => served, new ManualClock())
  zones.admit([limit('slow')])
  served = [zone('slow', 500)]
  assert.equal(zones.admit([limit('slow')]).refusedBy, 0)
  assert.equal(zones.admit([limit('fast')]).refusedBy, -2)
  served = [zone('slow', 500, 'other')]
  assert.equal(zones.admit([limit('slow')]).refusedBy, -2)
})

test('requests in progress count until they end, or until their worker does', () => {
  const zones = new LimitZones(() => both, new ManualClock())
  const [one, other] = [{}, {}]
  const open = (id: number, key = 'k') => ({ id, limits: [{ zone: 'open a', key, max: 2 }] })
  assert.deepEqual(
    [zones.begin(one, open(1)), zones.begin(other, open(1)), zones.begin(one, open(2)), zones.begin(one, open(3, 'l'))],
    ['counted', 'counted', 'refused', 'counted'],
  )
  zones.end(one, [1, 2, 9])
  assert.equal(zones.begin(one, open(4)), 'counted')
  zones.holderEnded(one)
  assert.equal(zones.begin(other, open(5)), 'counted')
  assert.equal(zones.begin(other, open(6)), 'refused')
  assert.equal(zones.begin(other, { id: 7, limits: [{ zone: 'gone', key: 'k', max: 1 }] }), 'unknown')
})

test('a zone without room refuses further keys', () => {
  const zones = new LimitZones(() => both, new ManualClock())
  const worker = {}
  const results = Array.from({ length: 300 }, (_, id) =>
    zones.begin(worker, { id, limits: [{ zone: 'open a', key: `key ${id}`, max: 9 }] }),
  )
  assert.equal(results.filter((result) => result === 'counted').length, 256)
  zones.holderEnded(worker)
  assert.equal(zones.begin(worker, { id: 1, limits: [{ zone: 'open a', key: 'k', max: 1 }] }), 'counted')
})
