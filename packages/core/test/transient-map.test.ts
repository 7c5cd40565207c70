import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TransientMap } from '../src/index.ts'

test('an entry is there until it is taken', () => {
  const map = new TransientMap<number, string>()
  map.set(1, 'one')
  assert.equal(map.get(1), 'one')
  assert.equal(map.has(1), true)
  assert.equal(map.take(1), 'one')
  assert.equal(map.take(1), undefined)
  assert.equal(map.has(1), false)
  assert.equal(map.size, 0)
})

test('a second value under a key replaces the first', () => {
  const map = new TransientMap<string, number>()
  map.set('a', 1)
  map.set('a', 2)
  assert.equal(map.size, 1)
  assert.equal(map.get('a'), 2)
})

test('values come in order and are those at the time of the call, even if some are deleted meanwhile', () => {
  const map = new TransientMap<number, string>()
  for (const [index, text] of ['a', 'b', 'c'].entries()) map.set(index, text)
  const seen: string[] = []
  for (const value of map.values()) {
    map.delete(2)
    seen.push(value)
  }
  assert.deepEqual(seen, ['a', 'b', 'c'])
  map.clear()
  assert.deepEqual(map.values(), [])
})

test('deleting says whether there was something', () => {
  const map = new TransientMap<number, string>()
  map.set(0, '')
  assert.equal(map.delete(0), true)
  assert.equal(map.delete(0), false)
})
