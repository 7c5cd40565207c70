import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CidrSet, canonicalAddress, clientNetwork, isCidr } from '../src/index.ts'

const canonical: ReadonlyArray<readonly [text: string, result: string | undefined]> = [
  ['', undefined],
  ['localhost', undefined],
  ['1', undefined],
  ['1.2.3', undefined],
  ['1.2.3.4.5', undefined],
  ['1.2.3.', undefined],
  ['.1.2.3', undefined],
  ['1..2.3', undefined],
  ['1.2.3.256', undefined],
  ['010.1.1.1', undefined],
  ['0x7f.0.0.1', undefined],
  [' 1.2.3.4', undefined],
  ['fe80::1%eth0', undefined],
  ['1:2:3:4:5:6:7:8:9', undefined],
  ['0.0.0.0', '0.0.0.0'],
  ['127.0.0.1', '127.0.0.1'],
  ['255.255.255.255', '255.255.255.255'],
  ['0000:0000:0000:0000:0000:0000:0000:0001', '::1'],
  ['0000:0000:0000:0000:0000:ffff:7f00:0001', '127.0.0.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:0db8:0000:0001:0001:0001:0001:0001', '2001:db8:0:1:1:1:1:1'],
]
for (const [text, result] of canonical) {
  test(`writes the address ${JSON.stringify(text)} as ${result} (RFC 5952 section 4)`, () =>
    assert.equal(canonicalAddress(text), result))
}

for (const range of [
  '',
  'x',
  '1.2.3.4/33',
  '1.2.3.4/-1',
  '1.2.3.4/',
  '1.2.3.4/08',
  '::/129',
  '1.2.3/8',
  'localhost/8',
  '::1/x',
  '1.2.3.4/8/8',
]) {
  test(`refuses the range ${JSON.stringify(range)}`, () => {
    assert.throws(() => new CidrSet(['10.0.0.0/8', range]), { code: 'HTTP_BAD_CIDR' })
  })
}

test('knows which addresses lie in its ranges', () => {
  const set = new CidrSet(['10.1.2.3/8', '192.0.2.7', '2001:db8::/32', '::1', '::ffff:203.0.113.0/120'])
  for (const address of [
    '10.0.0.0',
    '10.255.255.255',
    '192.0.2.7',
    '2001:db8:ffff::1',
    '::1',
    '203.0.113.9',
    '::ffff:10.9.9.9',
  ]) {
    assert.equal(set.contains(address), true, address)
  }
  for (const address of [
    '11.0.0.0',
    '9.255.255.255',
    '192.0.2.8',
    '2001:db9::1',
    '::2',
    '203.0.114.1',
    '',
    'x',
    '::ffff:11.0.0.1',
  ]) {
    assert.equal(set.contains(address), false, address)
  }
})

test('takes everything of a family with /0 and nothing of the other', () => {
  assert.deepEqual([new CidrSet(['0.0.0.0/0']).contains('255.1.1.1'), new CidrSet(['0.0.0.0/0']).contains('::1')], [true, false])
  assert.deepEqual([new CidrSet(['::/0']).contains('2001::1'), new CidrSet(['::/0']).contains('1.1.1.1')], [true, false])
  assert.deepEqual([new CidrSet([]).contains('1.1.1.1'), new CidrSet([]).isEmpty], [false, true])
})

test('a client is an IPv4 address or a /64 of IPv6', () => {
  assert.equal(clientNetwork('192.0.2.1'), '192.0.2.1')
  assert.equal(clientNetwork('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(clientNetwork('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(clientNetwork('2001:db8:1:2::9'), '2001:db8:1:2::/64')
  assert.notEqual(clientNetwork('2001:db8:1:3::9'), clientNetwork('2001:db8:1:2::9'))
  assert.equal(clientNetwork(''), '')
  assert.equal(clientNetwork('fe80::1%eth0'), '')
})

const ranges = [
  '10.0.0.0/8',
  '::/0',
  '::ffff:10.0.0.0/104',
  '10.0.0.0/08',
  'fe80::1%eth0',
  '10.0.0.0/33',
  '::/129',
  '10.0.0.0/',
  '',
]
for (const range of ranges) {
  test(`isCidr accepts ${JSON.stringify(range)} only if a set can hold it`, () => {
    if (isCidr(range)) assert.equal(new CidrSet([range]).isEmpty, false)
    else assert.throws(() => new CidrSet([range]), { code: 'HTTP_BAD_CIDR' })
  })
}
