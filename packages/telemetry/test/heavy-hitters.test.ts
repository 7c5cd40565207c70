import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeavyHitters } from '@svc/telemetry'

const bounds = { maxNames: 32, maxChars: 64 }

/** A stream in which each of ten pages has one request in 500, and all others are for different names. */
function addHostileStream(names: HeavyHitters, requests: number): void {
  for (let i = 0; i < requests; i++) names.add(i % 50 === 7 ? `/page-${((i - 7) / 50) % 10}` : `/random-${i}`, 1)
}

test('names that come once each do not push out the pages that have a five-hundredth of the requests', () => {
  const names = new HeavyHitters(bounds)
  addHostileStream(names, 100_000)
  const top = names.top(10)
  assert.deepEqual(
    top.map(({ name }) => name).sort(),
    Array.from({ length: 10 }, (_, i) => `/page-${i}`),
  )
  for (const { name, count } of top) assert.ok(count <= 200, `${name} has ${count} requests, and is listed with no more`)
})

test('a name takes no place of one that has as many requests', () => {
  const names = new HeavyHitters({ maxNames: 2, maxChars: 64 })
  names.add('/a', 10)
  names.add('/b', 10)
  for (let i = 0; i < 10; i++) names.add('/c', 1)
  assert.deepEqual(
    names.top(3).map(({ name }) => name),
    ['/a', '/b'],
  )
  names.add('/c', 1)
  assert.equal(names.top(3)[1]?.name, '/c')
})

test('a million different names take the room of 32', () => {
  const names = new HeavyHitters(bounds)
  for (let i = 0; i < 1_000_000; i++) names.add(`/random-${i}`, 1)
  assert.equal(names.size, 32)
})

test('counts are exact while there are few names, and add up with those of another list', () => {
  const one = new HeavyHitters(bounds)
  const other = new HeavyHitters(bounds)
  for (let i = 0; i < 30; i++) one.add(`/${i % 3}`, i % 3 === 0 ? 5 : 1)
  other.add('/1', 100)
  one.addAll(other)
  assert.deepEqual(one.top(2), [
    { name: '/1', count: 110 },
    { name: '/0', count: 50 },
  ])
})

test('a long name is cut', () => {
  const names = new HeavyHitters(bounds)
  names.add('x'.repeat(10_000), 1)
  assert.equal(names.top(1)[0]?.name, 'x'.repeat(64))
})
