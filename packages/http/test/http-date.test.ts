import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatHttpDate, parseHttpDate } from '../src/index.ts'

const now = Date.UTC(2026, 0, 1)
const time = Date.UTC(1994, 10, 6, 8, 49, 37)

for (const text of [
  '',
  'now',
  '1994-11-06T08:49:37Z',
  'Sun, 06 Nov 1994 08:49:37',
  'Sun, 06 Nov 1994 08:49:37 UTC',
  'Sun, 6 Nov 1994 08:49:37 GMT',
  'Sun, 06 Nov 1994 24:00:00 GMT',
  'Sun, 06 Nov 1994 08:60:00 GMT',
  'Sun, 31 Nov 1994 08:49:37 GMT',
  'Sun, 00 Nov 1994 08:49:37 GMT',
  'Xxx, 06 Nov 1994 08:49:37 GMT',
  'Sun, 06 Foo 1994 08:49:37 GMT',
  'sun, 06 nov 1994 08:49:37 gmt',
  ' Sun, 06 Nov 1994 08:49:37 GMT',
  'Tue, 29 Feb 2025 00:00:00 GMT',
  '784111777',
]) {
  test(`refuses the date ${JSON.stringify(text)}`, () => assert.equal(parseHttpDate(text, now), undefined))
}

const dates: ReadonlyArray<readonly [text: string, timeMs: number]> = [
  ['Sun, 06 Nov 1994 08:49:37 GMT', time],
  ['Sunday, 06-Nov-94 08:49:37 GMT', time],
  ['Sun Nov  6 08:49:37 1994', time],
  ['Wed Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
  ['Thu, 29 Feb 2024 23:59:60 GMT', Date.UTC(2024, 2, 1)],
  ['Saturday, 01-Jan-76 00:00:00 GMT', Date.UTC(2076, 0, 1)],
  ['Saturday, 01-Jan-77 00:00:00 GMT', Date.UTC(1977, 0, 1)],
  ['Sat, 01 Jan 0050 00:00:00 GMT', -60589296000000],
]
for (const [text, timeMs] of dates) {
  test(`reads ${text} (RFC 9110 section 5.6.7)`, () => assert.equal(parseHttpDate(text, now), timeMs))
}

test('writes a date that reads as the same second', () => {
  assert.equal(formatHttpDate(time + 999), 'Sun, 06 Nov 1994 08:49:37 GMT')
  assert.equal(parseHttpDate(formatHttpDate(time + 999)), time)
})
