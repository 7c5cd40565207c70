import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressRange, checkEgress, type EgressRules, outgoingHeaders, redirectedRequest } from '../src/index.ts'

const strict: EgressRules = { allow: [], allowLocal: false, own: [], machine: [] }

const refused = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '64:ff9b::7f00:1',
  '64:ff9b::a00:1',
  '64:ff9b:1::1',
  '2002:7f00:1::1',
  '2001::1',
  'fe80::1',
  'fe80::1%eth0',
  'fc00::1',
  'fd12:3456::1',
  'fec0::1',
  'ff02::1',
  '2001:db8::1',
  'example.org',
  '1.2.3',
]
const free = [
  '1.1.1.1',
  '8.8.8.8',
  '100.128.0.1',
  '172.32.0.1',
  '192.169.0.1',
  '::ffff:1.1.1.1',
  '64:ff9b::101:101',
  '2606:4700::1111',
]

test('addresses that are not public are refused in every notation', () => {
  for (const address of refused) {
    const verdict = checkEgress({ hostname: 'site.example', address, port: 80 }, strict)
    assert.equal(verdict.isAllowed, false, `${address} (${addressRange(address)})`)
  }
})

test('public addresses are free', () => {
  for (const address of free) {
    assert.equal(checkEgress({ hostname: 'x.example', address, port: 443 }, strict).isAllowed, true, address)
  }
})

const entries: [entry: string, hostname: string, address: string, port: number, isAllowed: boolean][] = [
  ['api.internal', 'api.internal', '10.0.0.5', 80, true],
  ['API.internal', 'api.internal', '10.0.0.5', 8080, true],
  ['api.internal', 'other.internal', '10.0.0.5', 80, false],
  ['*.internal', 'a.b.internal', '10.0.0.5', 80, true],
  ['*.internal', 'internal', '10.0.0.5', 80, false],
  ['10.0.0.0/8', 'anything.example', '10.9.9.9', 1, true],
  ['10.0.0.0/8', 'anything.example', '11.9.9.9', 1, true],
  ['10.0.0.0/8', 'anything.example', '192.168.0.1', 1, false],
  ['10.0.0.0/8', 'mapped.example', '::ffff:10.1.1.1', 1, true],
  ['fd00::/8', 'v6.example', 'fd00::7', 1, true],
  ['127.0.0.1', 'localhost', '127.0.0.1', 9000, true],
  ['127.0.0.1', 'localhost', '127.0.0.2', 9000, false],
  ['127.0.0.1:9000', '127.0.0.1', '127.0.0.1', 9000, true],
  ['127.0.0.1:9000', '127.0.0.1', '127.0.0.1', 9001, false],
  ['api.internal:8443', 'api.internal', '10.0.0.5', 8443, true],
  ['api.internal:8443', 'api.internal', '10.0.0.5', 443, false],
  ['[::1]:9000', '::1', '::1', 9000, true],
  ['[::1]:9000', '::1', '::1', 9001, false],
]

test('fetch_allow opens hosts, networks and single ports, and nothing beside them', () => {
  for (const [entry, hostname, address, port, isAllowed] of entries) {
    const verdict = checkEgress({ hostname, address, port }, { ...strict, allow: [entry] })
    assert.equal(verdict.isAllowed, isAllowed, `${entry} for ${hostname} ${address}:${port}`)
  }
})

test('the server itself is refused at each of its addresses, unless it is listed', () => {
  const rules = {
    ...strict,
    own: [
      { address: '0.0.0.0', port: 8080 },
      { address: '9.9.9.9', port: 443 },
    ],
    machine: ['5.6.7.8'],
  }
  const at = (address: string, port: number, allow: string[] = []) =>
    checkEgress({ hostname: 'www.example', address, port }, { ...rules, allow }).isAllowed
  assert.deepEqual([at('5.6.7.8', 8080), at('5.6.7.8', 8081), at('9.9.9.9', 443), at('9.9.9.9', 80)], [false, true, false, true])
  assert.equal(at('5.6.7.8', 8080, ['www.example']), true)
})

test('standalone mode reaches everything', () => {
  assert.equal(
    checkEgress({ hostname: 'localhost', address: '127.0.0.1', port: 1 }, { ...strict, allowLocal: true }).isAllowed,
    true,
  )
})

test('fields of the connection are the host’s, and CDN-Loop cannot be replaced', () => {
  const given: [string, string][] = [
    ['Host', 'evil'],
    ['connection', 'x-secret'],
    ['Transfer-Encoding', 'chunked'],
    ['Content-Length', '5'],
    ['CDN-Loop', 'none'],
    ['X-Own', '1'],
    ['Accept', 'text/plain'],
  ]
  assert.deepEqual(outgoingHeaders(given, { cdnLoop: 'svc;a' }), [
    ['x-own', '1'],
    ['accept', 'text/plain'],
    ['accept-encoding', 'gzip, deflate, br'],
    ['user-agent', 'svc'],
    ['cdn-loop', 'svc;a'],
  ])
})

test('redirects rewrite method and fields as the fetch standard says', () => {
  const headers: [string, string][] = [
    ['Cookie', 'a=1'],
    ['Authorization', 'x'],
    ['Content-Type', 'text/plain'],
    ['X-Own', '1'],
  ]
  const same = (status: number, method: string) =>
    redirectedRequest(status, method, headers, new URL('http://a/1'), new URL('http://a/2'))
  assert.deepEqual([same(301, 'POST').method, same(302, 'POST').method, same(303, 'PUT').method], ['GET', 'GET', 'GET'])
  assert.deepEqual([same(301, 'PUT').method, same(307, 'POST').method, same(303, 'HEAD').method], ['PUT', 'POST', 'HEAD'])
  assert.equal(same(307, 'POST').keepsBody, true)
  assert.deepEqual(
    same(303, 'POST').headers.map(([name]) => name),
    ['Cookie', 'Authorization', 'X-Own'],
  )
  const other = redirectedRequest(307, 'POST', headers, new URL('http://a/'), new URL('http://a:81/'))
  assert.deepEqual(
    other.headers.map(([name]) => name),
    ['Content-Type', 'X-Own'],
  )
})
