import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCookies, removeCookies, serializeSetCookie } from '../src/index.ts'

for (const value of ['a;b', 'a,b', 'a b', 'a"b', 'a\\b', 'a\r\nb', '\u00e9', '\x7f']) {
  test(`refuses the cookie value ${JSON.stringify(value)} (RFC 6265 section 4.1.1)`, () => {
    assert.throws(() => serializeSetCookie({ name: 'a', value }), { code: 'HTTP_BAD_COOKIE' })
  })
}

test('refuses names and attributes that would change the rest', () => {
  for (const name of ['', 'a b', 'a=b', 'a;'])
    assert.throws(() => serializeSetCookie({ name, value: '' }), { code: 'HTTP_BAD_COOKIE' })
  for (const path of ['', '/;Secure', '/\n']) {
    assert.throws(() => serializeSetCookie({ name: 'a', value: '', path }), { code: 'HTTP_BAD_COOKIE' })
  }
  assert.throws(() => serializeSetCookie({ name: 'a', value: '', domain: 'a;b' }), { code: 'HTTP_BAD_COOKIE' })
})

test('writes a cookie with all attributes', () => {
  const text = serializeSetCookie({
    name: '__Host-a',
    value: 'x=1',
    path: '/',
    domain: 'example.com',
    maxAgeSeconds: 0,
    expiresAt: 0,
    isHttpOnly: true,
    isSecure: true,
    sameSite: 'Lax',
    isPartitioned: true,
  })
  const expires = 'Thu, 01 Jan 1970 00:00:00 GMT'
  assert.equal(
    text,
    `__Host-a=x=1; Path=/; Domain=example.com; Max-Age=0; Expires=${expires}; HttpOnly; Secure; SameSite=Lax; Partitioned`,
  )
})

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
