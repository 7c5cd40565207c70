import assert from 'node:assert/strict'
import type { NetworkInterfaceInfo } from 'node:os'
import { test } from 'node:test'
import { checkEgress, type EgressRules } from '../src/thread/egress/address-policy.ts'
import { MachineAddresses } from '../src/thread/egress/machine-addresses.ts'
import { outgoingHeaders, redirectedRequest } from '../src/thread/egress/request-headers.ts'

const strict: EgressRules = { allow: [], allowLocal: false, own: [] }
const elsewhere = () => false

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
  '2606:4700::5efe:10.0.0.1',
  '2606:4700::200:5efe:127.0.0.1',
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
  '2606:4700::5efe:1.1.1.1',
]

test('addresses that are not public are refused in every notation', () => {
  for (const address of refused) {
    const verdict = checkEgress({ hostname: 'site.example', address, port: 80 }, strict, elsewhere)
    assert.equal(verdict.isAllowed, false, address)
  }
})

test('public addresses are free', () => {
  for (const address of free) {
    assert.equal(checkEgress({ hostname: 'x.example', address, port: 443 }, strict, elsewhere).isAllowed, true, address)
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
    const verdict = checkEgress({ hostname, address, port }, { ...strict, allow: [entry] }, elsewhere)
    assert.equal(verdict.isAllowed, isAllowed, `${entry} for ${hostname} ${address}:${port}`)
  }
})

test('the server itself is refused where it listens, unless it is listed', () => {
  const rules = { ...strict, own: [{ address: '9.9.9.9', port: 443 }] }
  const at = (port: number, allow: string[] = []) =>
    checkEgress({ hostname: 'www.example', address: '9.9.9.9', port }, { ...rules, allow }, elsewhere).isAllowed
  assert.deepEqual([at(443), at(80), at(443, ['www.example'])], [false, true, true])
})

function ipv4(address: string, prefix: number): NetworkInterfaceInfo {
  const cidr = `${address}/${prefix}`
  return { family: 'IPv4', address, netmask: '', mac: '', internal: false, cidr }
}

function ipv6(address: string, prefix = 64): NetworkInterfaceInfo {
  const cidr = `${address}/${prefix}`
  return { family: 'IPv6', address, netmask: '', mac: '', internal: false, cidr, scopeid: 0 }
}

const interfaces = { lo: [ipv4('127.0.0.1', 8)], eth0: [ipv4('5.6.7.8', 24), ipv6('2606:4700:1::8'), ipv6('fe80::8')] }
/** Forms of 5.6.7.8 (0506:0708), 5.6.7.255 and 2606:4700:1::8. */
const ofMachine = [
  '5.6.7.8',
  '5.6.7.255',
  '::ffff:5.6.7.8',
  '::ffff:506:7ff',
  '::5.6.7.8',
  '64:ff9b::5.6.7.8',
  '2606:4700:2::5.6.7.8',
  '2606:4700:506:708::',
  '2606:4700:5:607:8::',
  '2606:4700:1:506:7:800::',
  '2606:4700:1:5:6:708::',
  '2606:4700:1:1:5:607:800:0',
  '2002:506:708::1',
  '2001:0:506:708:0:0:fefe:fefe',
  '2001:0:9999:9999:0:0:faf9:f8f7',
  '2606:4700::5efe:5.6.7.8',
  '2606:4700:1::8',
  '2606:4700:1:0:0:0:0:8',
  'fe80::8%eth0',
]

test('the machine is refused on every port, in every form of its addresses, unless it is listed', () => {
  const machine = new MachineAddresses({ interfaces: () => interfaces })
  const at = (address: string, allow: string[] = []) =>
    checkEgress({ hostname: 'www.example', address, port: 6379 }, { ...strict, allow }, (one) => machine.includes(one)).isAllowed
  for (const address of ofMachine) assert.equal(machine.includes(address), true, address)
  for (const address of ofMachine) assert.equal(at(address), false, address)
  for (const entry of ['www.example', 'www.example:6379', '5.6.7.8', '5.6.7.8:6379', '5.6.7.0/24']) {
    assert.equal(at('::ffff:5.6.7.8', [entry]), true, entry)
  }
  assert.equal(at('5.6.7.8', ['5.6.7.8:80']), false)
  for (const address of [...free, '5.6.7.9', '2606:4700:1::9', 'example.org'])
    assert.equal(machine.includes(address), false, address)
})

test('a network of two addresses has no broadcast address', () => {
  const machine = new MachineAddresses({ interfaces: () => ({ eth0: [ipv4('5.6.7.8', 31)] }) })
  assert.deepEqual([machine.includes('5.6.7.8'), machine.includes('5.6.7.9')], [true, false])
})

test('changes of the interfaces are seen after a second, and reading them costs little in between', () => {
  let reads = 0
  let now = 10
  let current: Record<string, NetworkInterfaceInfo[]> = {}
  const machine = new MachineAddresses({
    now: () => now,
    interfaces: () => {
      reads++
      return current
    },
  })
  assert.equal(machine.includes('5.6.7.8'), false)
  current = interfaces
  for (let i = 0; i < 100; i++) machine.includes('5.6.7.8')
  assert.equal(reads, 1)
  now += 1_000
  assert.deepEqual([machine.includes('5.6.7.8'), reads], [true, 2])
})

test('no public address is free while the interfaces cannot be read', () => {
  const machine = new MachineAddresses({
    interfaces: () => {
      throw new Error('uv_interface_addresses returned EAFNOSUPPORT')
    },
  })
  assert.throws(() => machine.includes('1.1.1.1'), { code: 'RENDER_FETCH_FAILED', message: /addresses of the machine/ })
})

test('standalone mode reaches everything', () => {
  assert.equal(
    checkEgress({ hostname: 'localhost', address: '127.0.0.1', port: 1 }, { ...strict, allowLocal: true }, elsewhere).isAllowed,
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
