import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitted, fitting, fittingPage, pageOf } from '../src/contract/pages.ts'

interface Row {
  readonly id: string
  readonly text: string
}

const rowsOf = (count: number, text = '') => Array.from({ length: count }, (_, index) => ({ id: `row-${index}`, text }))
const idOf = ({ id }: Row) => id
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

test('a page ends before its rows are too long, and the pages have each row once', () => {
  const all = rowsOf(500, 'é'.repeat(400))
  const found: Row[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 20; pages++) {
    const page = pageOf(all, { cursor }, idOf)
    assert.ok(bytesOf(page.rows) <= 64 * 1024 + 1, `${bytesOf(page.rows)} bytes`)
    found.push(...page.rows)
    if (page.cursor === null) break
    cursor = page.cursor
  }
  assert.deepEqual(found, all)
  assert.equal(pageOf(all, { limit: 3 }, idOf).rows.length, 3)
  assert.deepEqual(pageOf([], {}, idOf), { rows: [], cursor: null })
})

test('the next page begins behind the last row, though rows before it came or went, or it went itself', () => {
  const all = rowsOf(10)
  const { cursor } = pageOf(all, { limit: 4 }, idOf)
  assert.ok(cursor !== null)
  const next = (rows: readonly Row[]) => pageOf(rows, { limit: 1, cursor }, idOf).rows[0]?.id
  assert.equal(next(all), 'row-4')
  assert.equal(next([...rowsOf(2), ...all].map((row, index) => (index < 2 ? { ...row, id: `new-${index}` } : row))), 'row-4')
  assert.equal(next(all.slice(2)), 'row-4')
  assert.equal(next(all.filter(({ id }) => id !== 'row-3')), 'row-4')
  assert.equal(next(all.slice(0, 2)), undefined)
  for (const wrong of ['', '4', '4.', 'x.abcdefghijkl', '4.abc', '-1.abcdefghijkl', `${cursor}x`]) {
    assert.throws(() => pageOf(all, { cursor: wrong }, idOf), { code: 'BAD_CURSOR' }, wrong)
  }
})

test('a row that is too long says that it is cut, whatever makes it long', () => {
  const long = { id: 'one', text: '\u0001'.repeat(100_000), names: Array.from({ length: 10_000 }, () => 'é'.repeat(200)) }
  const cut = fitted(long)
  assert.ok(bytesOf(cut) <= 24 * 1024, `${bytesOf(cut)} bytes`)
  assert.deepEqual([cut.id, cut.is_cut], ['one', true])
  assert.ok(cut.names.length > 0 && cut.text.length > 0)
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key-${index}`, 'x'.repeat(500)]))
  assert.ok(bytesOf(fitted(many)) <= 32 * 1024)
  assert.deepEqual(fitted({ id: 'short' }), { id: 'short' })
})

test('a page has a row, even one that is too long', () => {
  assert.deepEqual(fitting(['x'.repeat(100), 'y'], 10), ['x'.repeat(100)])
  assert.deepEqual(fitting([], 10), [])
})

test('a source is asked for fewer rows until they have room', async () => {
  const all = rowsOf(100, 'x'.repeat(10_000))
  const asked: number[] = []
  const page = await fittingPage(50, async (limit) => {
    asked.push(limit)
    return { rows: all.slice(0, limit), cursor: limit }
  })
  assert.deepEqual(asked, [50, 6])
  assert.deepEqual([page.rows.length, page.cursor], [6, 6])
  const endless = await fittingPage(50, async (limit) => ({ rows: rowsOf(limit, 'x'.repeat(1_000_000)), cursor: null }))
  assert.equal(endless.rows.length, 1)
})
