import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RecentWeakMap } from '../src/index.ts'

describe('RecentWeakMap', () => {
  test('an unknown key has no value, also behind a known one', () => {
    const map = new RecentWeakMap<object, string>()
    const known = {}
    assert.equal(map.get(known), undefined)
    map.set(known, 'a')
    assert.equal(map.get({}), undefined)
    assert.equal(map.get(known), 'a')
  })

  test('keys that take turns keep their values', () => {
    const map = new RecentWeakMap<object, number>()
    const keys = [{}, {}, {}]
    for (const [index, key] of keys.entries()) map.set(key, index)
    for (let round = 0; round < 3; round++)
      assert.deepEqual(
        keys.map((key) => map.get(key)),
        [0, 1, 2],
      )
  })

  test('a value that is set again replaces the old one, for the most recent key and for others', () => {
    const map = new RecentWeakMap<object, string>()
    const [one, other] = [{}, {}]
    map.set(one, 'a')
    map.set(one, 'b')
    assert.equal(map.get(one), 'b')
    map.set(other, 'c')
    map.set(one, 'd')
    assert.equal(map.get(one), 'd')
    assert.equal(map.get(other), 'c')
  })
})
