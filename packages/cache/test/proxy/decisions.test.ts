import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  freshenedFields,
  invalidatedUris,
  isUnsafe,
  type ProxyResource,
  proxyAddress,
  responseDirectives,
  validatingFields,
  variantOf,
  varyFields,
} from '../../src/index.ts'
import { targetedControl } from '../../src/proxy/targeted-control.ts'

describe('a field for this kind of cache', () => {
  const cases: Readonly<Record<string, string | undefined>> = {
    'max-age=60': 'max-age=60',
    'max-age=60, stale-while-revalidate=5': 'max-age=60, stale-while-revalidate=5',
    'no-store': 'no-store',
    'no-store=?1': 'no-store',
    'no-store=?0': '',
    'max-age=60;x=1': 'max-age=60',
    'max-age=1, max-age=2': 'max-age=2',
    'max-age="60"': '',
    'extension=token, max-age=1': 'max-age=1',
    '': undefined,
    'Max-Age=60': undefined,
    'max-age=60,': undefined,
    'max-age = 60': undefined,
    'max-age=60 no-store': undefined,
    'max-age=': undefined,
  }
  for (const [value, expected] of Object.entries(cases)) {
    test(`"${value}" ${expected === undefined ? 'is ignored' : `means "${expected}"`}`, () => {
      assert.equal(targetedControl(value), expected)
    })
  }

  test('stands in the place of all others', () => {
    const directives = responseDirectives([
      ['cache-control', 'no-store, private'],
      ['cdn-cache-control', 'max-age=5'],
    ])
    assert.deepEqual([directives.noStore, directives.isPrivate, directives.lifetime], [false, false, 5])
  })
})

describe('inputs of a response', () => {
  test('is a set of fields', () => {
    assert.deepEqual(
      varyFields([
        ['vary', 'B, a'],
        ['vary', ' a ,, '],
      ]),
      ['a', 'b'],
    )
    assert.equal(varyFields([['vary', 'a, *']]), '*')
    assert.deepEqual(varyFields([]), [])
  })

  const same = (field: string, a: string, b: string) => variantOf([field], [[field, a]]) === variantOf([field], [[field, b]])
  test('is the same with other whitespace', () => assert.ok(same('foo', 'a,b ;c', ' a , b; c ')))
  test('is another when a value is', () => {
    assert.ok(!same('foo', 'a', 'b'))
    assert.ok(!same('foo', 'a', 'A'))
    assert.notEqual(variantOf(['foo'], [['foo', '']]), variantOf(['foo'], []))
    assert.notEqual(variantOf(['a', 'b'], [['a', '1']]), variantOf(['a', 'b'], [['b', '1']]))
  })
  test('is the same for codings in any order and case', () => {
    assert.ok(same('accept-encoding', 'gzip, br', 'BR,GZIP'))
    assert.ok(same('accept-language', 'EN, de', 'en,de'))
    assert.ok(!same('accept-language', 'en, de', 'de, en'))
  })
  test('joins lines of a field', () => {
    assert.equal(
      variantOf(
        ['foo'],
        [
          ['foo', '1'],
          ['foo', '2'],
        ],
      ),
      variantOf(['foo'], [['foo', '1, 2']]),
    )
  })
})

describe('validation', () => {
  test('asks for the whole, on the conditions of the cache alone', () => {
    const client = [
      ['if-none-match', '"mine"'],
      ['range', 'bytes=0-1'],
      ['if-range', '"x"'],
      ['accept', '*'],
    ] as const
    assert.deepEqual(validatingFields(client, undefined), [['accept', '*']])
    const stored = [
      ['etag', '"1"'],
      ['last-modified', 'then'],
    ] as const
    assert.deepEqual(validatingFields(client, stored), [
      ['accept', '*'],
      ['if-none-match', '"1"'],
      ['if-modified-since', 'then'],
    ])
  })

  test('brings new fields, but none that describe the stored body', () => {
    const stored = [
      ['etag', '"1"'],
      ['content-encoding', 'br'],
      ['a', '1'],
      ['b', '1'],
    ] as const
    const update = [
      ['etag', '"2"'],
      ['content-encoding', 'gzip'],
      ['a', '2'],
      ['a', '3'],
      ['age', '5'],
      ['set-cookie', 'x'],
    ] as const
    assert.deepEqual(freshenedFields(stored, update), [
      ['etag', '"1"'],
      ['content-encoding', 'br'],
      ['b', '1'],
      ['a', '2'],
      ['a', '3'],
    ])
  })
})

describe('invalidation by a request', () => {
  const uri = 'http://a.org/x?q'
  test('are its own URI and those that the answer names', () => {
    const headers = [
      ['location', '/made/../new'],
      ['content-location', 'http://a.org/list'],
    ] as const
    assert.deepEqual(invalidatedUris(uri, { status: 201, headers }), [uri, 'http://a.org/new', 'http://a.org/list'])
  })
  test('is never something of another origin', () => {
    for (const other of ['http://b.org/', 'https://a.org/', 'http://a.org:81/', '//b.org/', 'http://']) {
      assert.deepEqual(invalidatedUris(uri, { status: 200, headers: [['location', other]] }), [uri], other)
    }
  })
  test('is nothing when it failed', () => assert.deepEqual(invalidatedUris(uri, { status: 404, headers: [] }), []))
  test('is for methods that are not known to be safe', () => {
    assert.deepEqual(['POST', 'M-SEARCH', 'DELETE', 'get'].map(isUnsafe), [true, true, true, true])
    assert.deepEqual(['GET', 'HEAD', 'OPTIONS', 'PROPFIND'].map(isUnsafe), [false, false, false, false])
  })
})

describe('the address of a resource', () => {
  const resource: ProxyResource = { scheme: 'http', host: 'a.org', path: '/x', query: '', label: 'l', via: ['up'] }
  const key = (changes: Partial<ProxyResource>) => proxyAddress({ ...resource, ...changes })?.key

  test('is its own for each scheme, host, port, path, query, site and upstream', () => {
    const all = [
      {},
      { scheme: 'https' as const },
      { host: 'b.org' },
      { host: 'a.org:81' },
      { path: '/y' },
      { query: 'q' },
      { label: 'm' },
      { via: ['other'] },
    ].map(key)
    assert.equal(new Set(all).size, all.length)
  })
  test('does not tell ports apart that say nothing', () => {
    assert.equal(key({ host: 'a.org:80' }), key({}))
    assert.equal(key({ host: 'a.org.' }), key({}))
    assert.notEqual(key({ host: 'a.org:80', scheme: 'https' }), key({ scheme: 'https' }))
  })
  test('is none for what servers read in different ways', () => {
    for (const path of ['/a%2Fb', '/a%5Cb', '/a%00', '/a\\b']) assert.equal(key({ path }), undefined, path)
    assert.equal(key({ host: '' }), undefined)
  })
})
