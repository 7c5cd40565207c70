import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ByteRange, contentRange, parseRange, planMultipart, unsatisfiedContentRange } from '../src/index.ts'

const size = 10_000
const range = (start: number, end: number): ByteRange => ({ start, end })

const table: ReadonlyArray<readonly [value: string, result: readonly ByteRange[] | 'ignore' | 'unsatisfiable']> = [
  ['', 'ignore'],
  ['0-1', 'ignore'],
  ['items=0-1', 'ignore'],
  ['bytes=', 'ignore'],
  ['bytes=,', 'ignore'],
  ['bytes=-', 'ignore'],
  ['bytes=a-b', 'ignore'],
  ['bytes=1', 'ignore'],
  ['bytes=5-4', 'ignore'],
  ['bytes=0-1,5-4', 'ignore'],
  ['bytes=0x1-2', 'ignore'],
  ['bytes=+1-2', 'ignore'],
  ['bytes=--1', 'ignore'],
  ['bytes=1 - 2', 'ignore'],
  [`bytes=${'0-0,'.repeat(33)}`, 'ignore'],
  ['bytes=10000-', 'unsatisfiable'],
  ['bytes=10000-10001', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=20000-,-0', 'unsatisfiable'],
  [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
  ['bytes=0-0', [range(0, 0)]],
  ['bytes=9999-', [range(9999, 9999)]],
  ['bytes=0-', [range(0, 9999)]],
  ['bytes=-1', [range(9999, 9999)]],
  ['bytes=-99999', [range(0, 9999)]],
  ['bytes=500-99999', [range(500, 9999)]],
  [`bytes=5-${'9'.repeat(400)}`, [range(5, 9999)]],
  ['BYTES=0-0', [range(0, 0)]],
  ['bytes = 0-0 , 500-500', [range(0, 0), range(500, 500)]],
  ['bytes=500-600,0-10', [range(500, 600), range(0, 10)]],
  ['bytes=0-10,20000-,500-', [range(0, 10), range(500, 9999)]],
  ['bytes=0-10,5-20', [range(0, 20)]],
  ['bytes=500-600,0-10,8-9,550-700', [range(0, 10), range(500, 700)]],
  ['bytes=0-10,11-20', [range(0, 20)]],
  ['bytes=0-10,90-99', [range(0, 99)]],
  ['bytes=0-10,91-99', [range(0, 10), range(91, 99)]],
  ['bytes=0-,0-,0-,0-', [range(0, 9999)]],
]
for (const [value, result] of table) {
  test(`reads ${value.slice(0, 40)} of ${size} bytes (RFC 9110 section 14.1.2)`, () =>
    assert.deepEqual(parseRange(value, size), result))
}

test('an empty representation has no range to send', () => {
  assert.equal(parseRange('bytes=0-', 0), 'unsatisfiable')
  assert.equal(parseRange('bytes=-5', 0), 'ignore')
})

test('writes Content-Range (RFC 9110 section 14.4)', () => {
  assert.equal(contentRange(range(0, 499), 1234), 'bytes 0-499/1234')
  assert.equal(unsatisfiedContentRange(1234), 'bytes */1234')
})

test('lays out a multipart body whose length is what its parts add up to (RFC 9110 section 15.3.7.2)', () => {
  const content = Buffer.from('abcdefghij'.repeat(20))
  const plan = planMultipart([range(0, 2), range(100, 101)], content.byteLength, 'text/plain', 'BOUND')
  const pieces = plan.parts.flatMap((part) => [part.head, content.subarray(part.range.start, part.range.end + 1)])
  const body = Buffer.concat([...pieces, plan.tail])
  assert.equal(body.byteLength, plan.length)
  assert.equal(plan.contentType, 'multipart/byteranges; boundary=BOUND')
  assert.equal(
    body.toString(),
    '--BOUND\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-2/200\r\n\r\nabc' +
      '\r\n--BOUND\r\nContent-Type: text/plain\r\nContent-Range: bytes 100-101/200\r\n\r\nab\r\n--BOUND--\r\n',
  )
})
