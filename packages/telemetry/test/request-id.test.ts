import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestIds } from '../src/index.ts'

test('ids are UUIDs of version 7 that carry the time', () => {
  const next = new RequestIds(() => 0x0192_3456_789a).next
  for (let i = 0; i < 300; i++) assert.match(next(), /^01923456-789a-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('ids differ and sort by time', () => {
  let now = 1_700_000_000_000
  const next = new RequestIds(() => now).next
  const ids = new Set<string>()
  let earlier = next()
  for (let i = 0; i < 5000; i++) {
    now++
    const id = next()
    assert.ok(id > earlier)
    ids.add(id)
    earlier = id
  }
  assert.equal(ids.size, 5000)
})
