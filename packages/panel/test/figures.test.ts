import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rowsInView } from '../src/components/virtual-rows.ts'
import { RingBuffer } from '../src/data/ring-buffer.ts'
import { counted, quantity } from '../src/format/quantity.ts'
import { relativeTime } from '../src/format/relative-time.ts'

test('a figure is short with its unit, and has all its digits besides', () => {
  const shown = (value: number | null | undefined, unit: Parameters<typeof quantity>[1]) => {
    const { text, exact } = quantity(value, unit)
    return [text, exact]
  }
  assert.deepEqual(shown(1_234_567, 'count'), ['1.2M', '1,234,567'])
  assert.deepEqual(shown(1536, 'bytes'), ['1.5 KiB', '1,536 bytes'])
  assert.deepEqual(shown(0, 'bytes'), ['0 B', '0 bytes'])
  assert.deepEqual(shown(90_061, 'secs'), ['1 d', '90,061 s'])
  assert.deepEqual(shown(12.345, 'ms'), ['12.3 ms', '12.345 ms'])
  assert.deepEqual(shown(0.12345, 'ratio'), ['12.3 %', '12.345 %'])
  assert.deepEqual(shown(0.25, 'per_sec'), ['0.3/s', '0.25 per second'])
})

test('a figure that was not measured says so', () => {
  for (const value of [null, undefined, Number.NaN]) assert.equal(quantity(value, 'ms').text, 'no data')
})

test('a number of things has the right form of their name', () => {
  assert.deepEqual(
    [counted(1, 'site'), counted(1200, 'site'), counted(0, 'entry', 'entries')],
    ['1 site', '1,200 sites', '0 entries'],
  )
})

test('a time is told from now, in both directions', () => {
  const nowMs = 1_000_000_000
  const told = [0, -999, -59_000, -3_600_000, 86_400_000].map((offset) => relativeTime(nowMs + offset, nowMs))
  assert.deepEqual(told, ['now', 'now', '59 s ago', '1 h ago', 'in 1 d'])
})

test('a long table draws the rows in view with a margin, whatever it was scrolled to', () => {
  const view = { height: 400, rowHeight: 40, count: 100_000 }
  assert.deepEqual(rowsInView({ ...view, top: 0 }), { first: 0, end: 20 })
  assert.deepEqual(rowsInView({ ...view, top: 40_000 }), { first: 990, end: 1020 })
  assert.deepEqual(rowsInView({ ...view, top: 4_000_000 }), { first: 99_980, end: 100_000 })
  // The rows became fewer while the table was scrolled down.
  assert.deepEqual(rowsInView({ ...view, top: 40_000, count: 5 }), { first: 0, end: 5 })
})

test('a ring buffer keeps the last items, newest first, and no more than its size', () => {
  const recent = new RingBuffer<number>(3)
  const afterEach = [1, 2, 3, 4, 5].map((item) => {
    recent.add(item)
    return recent.newestFirst()
  })
  assert.deepEqual(afterEach, [[1], [2, 1], [3, 2, 1], [4, 3, 2], [5, 4, 3]])
})
