import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeaderGuard, isToken, type RequestFault } from '../src/index.ts'

type Fields = ReadonlyArray<readonly [string, string]>

function check(fields: Fields, method = 'GET'): RequestFault['code'] | undefined {
  const guard = new HeaderGuard()
  guard.begin(method)
  for (const [name, value] of fields) guard.field(name, value)
  return guard.end()?.code
}

const refused: ReadonlyArray<readonly [name: string, fields: Fields, code: RequestFault['code']]> = [
  [
    'two hosts',
    [
      ['host', 'a'],
      ['host', 'a'],
    ],
    'duplicate_host',
  ],
  [
    'an empty host and another',
    [
      ['host', ''],
      ['host', 'a'],
    ],
    'duplicate_host',
  ],
  [
    'two lengths that differ',
    [
      ['content-length', '5'],
      ['content-length', '6'],
    ],
    'duplicate_content_length',
  ],
  [
    'two equal lengths',
    [
      ['content-length', '5'],
      ['content-length', '5'],
    ],
    'duplicate_content_length',
  ],
  ['an empty length', [['content-length', '']], 'bad_content_length'],
  [
    'an empty length before another',
    [
      ['content-length', ''],
      ['content-length', '5'],
    ],
    'bad_content_length',
  ],
  ['a signed length', [['content-length', '+3']], 'bad_content_length'],
  ['a negative length', [['content-length', '-1']], 'bad_content_length'],
  ['a hexadecimal length', [['content-length', '0x3']], 'bad_content_length'],
  ['a list of lengths', [['content-length', '3, 3']], 'bad_content_length'],
  ['a spaced length', [['content-length', '3 3']], 'bad_content_length'],
  ['a length of 16 digits', [['content-length', '1000000000000000']], 'bad_content_length'],
  ['other digits', [['content-length', '\u0663']], 'bad_content_length'],
  [
    'length and chunks',
    [
      ['content-length', '5'],
      ['transfer-encoding', 'chunked'],
    ],
    'ambiguous_length',
  ],
  [
    'chunks and length',
    [
      ['transfer-encoding', 'chunked'],
      ['content-length', '0'],
    ],
    'ambiguous_length',
  ],
  [
    'two encodings',
    [
      ['transfer-encoding', 'chunked'],
      ['transfer-encoding', 'chunked'],
    ],
    'duplicate_transfer_encoding',
  ],
  ['an empty encoding', [['transfer-encoding', '']], 'bad_transfer_encoding'],
  ['a list of encodings', [['transfer-encoding', 'gzip, chunked']], 'bad_transfer_encoding'],
  ['chunked twice in a list', [['transfer-encoding', 'chunked, chunked']], 'bad_transfer_encoding'],
  ['chunked with a parameter', [['transfer-encoding', 'chunked;a=b']], 'bad_transfer_encoding'],
  ['chunked after a vertical tab', [['transfer-encoding', '\x0bchunked']], 'bad_header_value'],
  ['another encoding', [['transfer-encoding', 'xchunked']], 'unsupported_transfer_encoding'],
  ['identity', [['transfer-encoding', 'identity']], 'unsupported_transfer_encoding'],
  ['an empty name', [['', 'z']], 'bad_header_name'],
  ['a space in a name', [['a ', 'z']], 'bad_header_name'],
  ['a colon in a name', [['a:', 'z']], 'bad_header_name'],
  ['a byte over 0x7f in a name', [['\u00e9', 'z']], 'bad_header_name'],
  ['a name beyond latin-1 that ends in the byte of a letter', [['\u0161', 'z']], 'bad_header_name'],
  ['CR in a value', [['a', 'b\rc']], 'bad_header_value'],
  ['LF in a value', [['a', 'b\nc']], 'bad_header_value'],
  ['NUL in a value', [['a', '\0']], 'bad_header_value'],
  ['DEL in a value', [['a', '\x7f']], 'bad_header_value'],
]
for (const [name, fields, code] of refused) {
  test(`refuses ${name} as ${code}`, () => assert.equal(check(fields), code))
}

for (const method of ['', 'G(E)T', 'GET:', 'GE T', '\u00c9']) {
  test(`refuses the method ${JSON.stringify(method)}`, () => assert.equal(check([], method), 'bad_method'))
}

const accepted: ReadonlyArray<readonly [name: string, fields: Fields]> = [
  ['no fields', []],
  [
    'a length',
    [
      ['host', 'a'],
      ['content-length', '999999999999999'],
    ],
  ],
  ['chunks', [['transfer-encoding', 'chunked']]],
  ['chunks in another case (RFC 9112 section 7)', [['transfer-encoding', 'Chunked']]],
  [
    'a field twice that may come twice',
    [
      ['cookie', 'a'],
      ['cookie', 'b'],
    ],
  ],
  [
    'an empty value, TAB and latin-1 text',
    [
      ['a', ''],
      ['b', 'x\ty'],
      ['c', 'caf\u00e9'],
    ],
  ],
]
for (const [name, fields] of accepted) test(`takes ${name}`, () => assert.equal(check(fields), undefined))

test('answers 501 only for a transfer coding that is not known (RFC 9112 section 6.1)', () => {
  const guard = new HeaderGuard()
  guard.begin('POST')
  guard.field('transfer-encoding', 'gzip')
  assert.equal(guard.end()?.status, 501)
})

test('forgets one request before the next and keeps the first fault', () => {
  const guard = new HeaderGuard()
  guard.begin('POST')
  guard.field('host', 'a')
  guard.field('content-length', '12')
  assert.deepEqual([guard.end(), guard.host, guard.contentLength, guard.isChunked], [undefined, 'a', 12, false])
  guard.begin('G T')
  guard.field('content-length', 'x')
  guard.field('', '')
  assert.equal(guard.end()?.code, 'bad_method')
  guard.begin('GET')
  assert.deepEqual([guard.end(), guard.host, guard.contentLength, guard.isChunked], [undefined, undefined, undefined, false])
})

test('knows tokens (RFC 9110 section 5.6.2)', () => {
  for (const text of ['GET', 'x-a', "!#$%&'*+-.^_`|~09"]) assert.equal(isToken(text), true, text)
  for (const text of ['', ' ', 'a b', 'a/b', '"a"', 'a;', '\u0100']) assert.equal(isToken(text), false, text)
})
