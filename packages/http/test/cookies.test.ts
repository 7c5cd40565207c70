import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCookies, removeCookies, valuesOfCookie } from '../src/index.ts'

const parsed: ReadonlyArray<readonly [field: string | undefined, cookies: ReadonlyArray<readonly [string, string]>]> = [
  [undefined, []],
  ['', []],
  [';;', []],
  ['novalue', []],
  ['=x', []],
  ['a=1', [['a', '1']]],
  [
    'a=1;b=2 ; c = 3',
    [
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
    ],
  ],
  [
    'a="q"; b=x=y; c=%20',
    [
      ['a', 'q'],
      ['b', 'x=y'],
      ['c', '%20'],
    ],
  ],
  ['a=1; a=2', [['a', '1']]],
  ['__proto__=1', [['__proto__', '1']]],
  ['a="', [['a', '"']]],
]
for (const [field, cookies] of parsed) {
  test(`parses ${JSON.stringify(field)} (RFC 6265 section 4.2)`, () => assert.deepEqual([...parseCookies(field)], cookies))
}

test('takes cookies out and keeps the others as sent', () => {
  const names = new Set(['SVC_ADMIN'])
  assert.equal(removeCookies('a=1; SVC_ADMIN=secret;b="2"', names), 'a=1; b="2"')
  assert.equal(removeCookies('SVC_ADMIN=x; SVC_ADMIN = y', names), undefined)
  assert.equal(removeCookies('XSVC_ADMIN=1; loose', names), 'XSVC_ADMIN=1; loose')
})

test('finds all values of a cookie in their order', () => {
  assert.deepEqual(valuesOfCookie('a=1; b=2;a = "3" ; a=; aa=4; =5; a', 'a'), ['1', '3', ''])
})
