import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHost } from '../src/index.ts'

const refused = [
  '',
  '.',
  '..',
  ':',
  ':80',
  'a..b',
  '.a',
  'a..',
  'a b',
  'a/b@c d',
  'user@host',
  'a\\b',
  'a#b',
  'a?b',
  'a\0',
  'a\tb',
  'caf\u00e9.test',
  'a:b',
  'a:80:90',
  'a:65536',
  'a:123456',
  'a:-1',
  'a:+1',
  'a: 80',
  '%',
  'a%2',
  'a%zz',
  'a.%zz.b',
  '[',
  '[]',
  '[::1',
  '[::1]x',
  '[::1]:x',
  '[1.2.3.4]',
  '[::1%eth0]',
  '[::g]',
  '::1',
  '[v1.x]',
  'a,b c',
  'a"b',
  '<a>',
  `${'a'.repeat(256)}`,
]
for (const value of refused) {
  test(`refuses the host ${JSON.stringify(value.slice(0, 20))}`, () => assert.equal(parseHost(value), 'bad_host'))
}

const accepted: ReadonlyArray<readonly [value: string, hostname: string, port: number | undefined]> = [
  ['example.com', 'example.com', undefined],
  ['EXAMPLE.com:8080', 'example.com', 8080],
  ['example.com.', 'example.com', undefined],
  ['example.com.:443', 'example.com', 443],
  ['example.com:', 'example.com', undefined],
  ['localhost:0', 'localhost', 0],
  ['a_b.test', 'a_b.test', undefined],
  ['xn--caf-dma.test', 'xn--caf-dma.test', undefined],
  ["a!$&'()*+,;=b", "a!$&'()*+,;=b", undefined],
  ['a%2Db', 'a%2db', undefined],
  ['192.0.2.1:80', '192.0.2.1', 80],
  ['[::1]', '[::1]', undefined],
  ['[0:0:0:0:0:0:0:1]:65535', '[::1]', 65535],
  ['[2001:DB8::1]:80', '[2001:db8::1]', 80],
  ['[::1]:', '[::1]', undefined],
  ['[::ffff:192.0.2.1]', '192.0.2.1', undefined],
]
for (const [value, hostname, port] of accepted) {
  test(`reads the host ${value} (RFC 3986 section 3.2.2)`, () => assert.deepEqual(parseHost(value), { hostname, port }))
}
