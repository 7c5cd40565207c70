import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CidrSet, clientOf, type HeaderList, isTrustedOnlyField } from '../src/index.ts'

const trusted = new CidrSet(['10.0.0.0/8', '::1'])
const ask = (remoteAddress: string, headers: HeaderList) =>
  clientOf({ remoteAddress, scheme: 'http', host: 'inner.test:8080', headers }, trusted)

test('believes nothing that comes from a peer that is not trusted', () => {
  const spoofed: HeaderList = [
    ['forwarded', 'for=1.1.1.1;proto=https;host=x'],
    ['x-forwarded-for', '1.1.1.1'],
    ['x-forwarded-host', 'x'],
  ]
  const itself = { address: '203.0.113.5', scheme: 'http', host: 'inner.test:8080', isPeerTrusted: false }
  assert.deepEqual(ask('203.0.113.5', spoofed), itself)
  assert.deepEqual(ask('', spoofed), { ...itself, address: '' })
})

test("looks up the peer's address only on demand when no proxy is trusted", () => {
  let asked = 0
  const connection = {
    get remoteAddress() {
      asked++
      return '203.0.113.5'
    },
    scheme: 'https',
    host: 'a.test',
    headers: [['x-forwarded-for', '1.1.1.1']],
  } as const
  const client = clientOf(connection, new CidrSet([]))
  assert.deepEqual([client.scheme, client.host, client.isPeerTrusted, asked], ['https', 'a.test', false, 0])
  assert.deepEqual([client.address, asked], ['203.0.113.5', 1])
})

const cases: ReadonlyArray<readonly [why: string, headers: HeaderList, address: string, scheme: string, host: string]> = [
  ['no fields', [], '10.0.0.1', 'http', 'inner.test:8080'],
  ['one address', [['x-forwarded-for', '203.0.113.9']], '203.0.113.9', 'http', 'inner.test:8080'],
  [
    'the rightmost that is not trusted',
    [['x-forwarded-for', '1.1.1.1, 203.0.113.9, 10.2.2.2']],
    '203.0.113.9',
    'http',
    'inner.test:8080',
  ],
  [
    'over several lines',
    [
      ['x-forwarded-for', '1.1.1.1'],
      ['x-forwarded-for', '203.0.113.9'],
      ['x-forwarded-for', '10.2.2.2'],
    ],
    '203.0.113.9',
    'http',
    'inner.test:8080',
  ],
  ['a quote hides nothing', [['x-forwarded-for', '"1.1.1.1, 203.0.113.9']], '203.0.113.9', 'http', 'inner.test:8080'],
  [
    'a quote that is left open in Forwarded hides nothing',
    [['forwarded', 'for="1.1.1.1, for="[2001:db8::9]";proto=https']],
    '2001:db8::9',
    'https',
    'inner.test:8080',
  ],
  [
    'nor one with an escape at its end',
    [['forwarded', 'for=1.1.1.1;x="\\, for=203.0.113.9']],
    '203.0.113.9',
    'http',
    'inner.test:8080',
  ],
  ['all are trusted: the leftmost', [['x-forwarded-for', '10.3.3.3, 10.2.2.2']], '10.3.3.3', 'http', 'inner.test:8080'],
  ['garbage ends the search', [['x-forwarded-for', '1.1.1.1, unknown, 10.2.2.2']], '10.2.2.2', 'http', 'inner.test:8080'],
  ['an IPv4-mapped address', [['x-forwarded-for', '::ffff:203.0.113.9']], '203.0.113.9', 'http', 'inner.test:8080'],
  ['an address with port', [['x-forwarded-for', '203.0.113.9:4711']], '203.0.113.9', 'http', 'inner.test:8080'],
  ['a bare IPv6 address', [['x-forwarded-for', '2001:DB8::0:1']], '2001:db8::1', 'http', 'inner.test:8080'],
  [
    'scheme and host of the peer',
    [
      ['x-forwarded-for', '1.1.1.1, 203.0.113.9'],
      ['x-forwarded-proto', 'HTTPS'],
      ['x-forwarded-host', 'Shop.test:444'],
    ],
    '203.0.113.9',
    'https',
    'shop.test:444',
  ],
  [
    'only the last of too many schemes',
    [
      ['x-forwarded-for', '203.0.113.9'],
      ['x-forwarded-proto', 'https, http'],
    ],
    '203.0.113.9',
    'http',
    'inner.test:8080',
  ],
  [
    'hop by hop when as many',
    [
      ['x-forwarded-for', '203.0.113.9, 10.2.2.2'],
      ['x-forwarded-proto', 'https, http'],
    ],
    '203.0.113.9',
    'https',
    'inner.test:8080',
  ],
  [
    'no addresses, but scheme and host',
    [
      ['x-forwarded-proto', 'https'],
      ['x-forwarded-host', 'a.test'],
    ],
    '10.0.0.1',
    'https',
    'a.test',
  ],
  [
    'a scheme and a host that are none',
    [
      ['x-forwarded-for', '203.0.113.9'],
      ['x-forwarded-proto', 'ftp'],
      ['x-forwarded-host', 'a b/c'],
    ],
    '203.0.113.9',
    'http',
    'inner.test:8080',
  ],
  ['Forwarded', [['forwarded', 'for=203.0.113.9;proto=https;host="a.test:8443"']], '203.0.113.9', 'https', 'a.test:8443'],
  [
    'Forwarded before X-Forwarded',
    [
      ['x-forwarded-for', '1.1.1.1'],
      ['forwarded', 'For="[2001:db8::9]:4711"'],
      ['x-forwarded-proto', 'https'],
    ],
    '2001:db8::9',
    'http',
    'inner.test:8080',
  ],
  [
    'Forwarded with several hops',
    [['forwarded', 'for=1.1.1.1;host=evil, for=203.0.113.9;proto=https, for=10.2.2.2;host=near.test']],
    '203.0.113.9',
    'https',
    'near.test',
  ],
  [
    'Forwarded with a hidden node (RFC 7239 section 6.3)',
    [['forwarded', 'for=1.1.1.1, for=_hidden;proto=https, for="10.2.2.2:80"']],
    '10.2.2.2',
    'https',
    'inner.test:8080',
  ],
  [
    'Forwarded with commas and semicolons in quotes',
    [['forwarded', 'for=203.0.113.9;x=", for=1.1.1.1;";proto=https']],
    '203.0.113.9',
    'https',
    'inner.test:8080',
  ],
]
for (const [why, headers, address, scheme, host] of cases) {
  test(`from a trusted peer: ${why}`, () =>
    assert.deepEqual(ask('10.0.0.1', headers), { address, scheme, host, isPeerTrusted: true }))
}

test('trusts a peer by its IPv6 address too', () => {
  assert.equal(ask('::1', [['x-forwarded-for', '203.0.113.9']]).address, '203.0.113.9')
})

test('takes out what only a trusted peer may send', () => {
  const names = [
    'forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-real-ip',
    'x-original-url',
    'x-rewrite-url',
    'x-svc-request',
    'x-middleware-next',
    'x-nextjs-data',
  ]
  assert.ok(names.every(isTrustedOnlyField))
  assert.deepEqual(['host', 'x-forward', 'via', 'x-svc'].filter(isTrustedOnlyField), [])
})
