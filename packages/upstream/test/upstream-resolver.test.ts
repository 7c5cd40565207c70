import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, startDns } from '@svc/testkit'
import type { Peer } from '../src/balance/peer.ts'
import { UpstreamGroups } from '../src/balance/upstream-groups.ts'
import { NameServers, type ResolverSpec } from '../src/resolver/name-servers.ts'
import { ask, groupOf, originFor, server, startRaw } from './raw-upstream.ts'

const specOf = (address: string, more: Partial<ResolverSpec> = {}): ResolverSpec => ({
  servers: [address],
  validMs: undefined,
  hasIpv4: true,
  hasIpv6: false,
  timeoutMs: 5_000,
  ...more,
})

test('an answer is used for as long as it says, or for the time of valid=', async (t) => {
  const dns = await startDns(t, { 'a.test': ['10.0.0.1'] })
  dns.ttlSeconds = 5
  const clock = new ManualClock(0)
  const [names, longer] = [
    new NameServers(specOf(dns.address), clock),
    new NameServers(specOf(dns.address, { validMs: 9_000 }), clock),
  ]
  const found = async (from: NameServers) => (await from.find('a.test')).addresses.join()
  assert.deepEqual([await found(names), await found(longer)], ['10.0.0.1', '10.0.0.1'])
  dns.names.set('a.test', ['10.0.0.2', '10.0.0.3'])
  assert.deepEqual([await found(names), dns.questions], ['10.0.0.1', 2])
  clock.advance(5_000)
  assert.deepEqual([await found(names), await found(longer)], ['10.0.0.2,10.0.0.3', '10.0.0.1'])
  clock.advance(4_000)
  assert.equal(await found(longer), '10.0.0.2,10.0.0.3')
})

test('a name without address fails, and silence leaves the last addresses', async (t) => {
  const dns = await startDns(t, { 'a.test': ['10.0.0.1'], 'empty.test': [] })
  const clock = new ManualClock(0)
  const names = new NameServers(specOf(dns.address, { validMs: 0, timeoutMs: 300 }), clock)
  for (const name of ['none.test', 'empty.test'])
    await assert.rejects(names.find(name), { code: 'UPSTREAM_UNREACHABLE', message: `${name} could not be resolved` })
  await names.find('a.test')
  dns.isSilent = true
  assert.deepEqual((await names.find('a.test')).addresses, ['10.0.0.1'])
  await assert.rejects(names.find('b.test'), { code: 'UPSTREAM_UNREACHABLE' })
  dns.isSilent = false
  dns.names.delete('a.test')
  await assert.rejects(names.find('a.test'), { code: 'UPSTREAM_UNREACHABLE' })
})

test('requests for one name ask once, and the names that are kept are bounded', async (t) => {
  const dns = await startDns(t, {})
  for (let index = 0; index <= 1_000; index++) dns.names.set(`n${index}.test`, ['10.0.0.1'])
  const names = new NameServers(specOf(dns.address), new ManualClock(0))
  await Promise.all([names.find('n0.test'), names.find('n0.test')])
  assert.equal(dns.questions, 1)
  for (let index = 1; index <= 1_000; index++) await names.find(`n${index}.test`)
  assert.equal(dns.questions, 1_001)
  await names.find('n1000.test')
  assert.equal(dns.questions, 1_001)
  await names.find('n0.test')
  assert.equal(dns.questions, 1_002)
})

test('a name server that has a name itself is found by the operating system', async (t) => {
  const dns = await startDns(t, { 'a.test': ['10.0.0.1'] })
  const names = new NameServers(specOf(dns.address.replace('127.0.0.1', 'localhost'), { timeoutMs: 10_000 }), new ManualClock(0))
  assert.deepEqual((await names.find('a.test')).addresses, ['10.0.0.1'])
  await assert.rejects(new NameServers(specOf('none.invalid:53'), new ManualClock(0)).find('a.test'), {
    code: 'UPSTREAM_UNREACHABLE',
  })
})

test('the servers of a group follow the addresses of their names', async (t) => {
  const dns = await startDns(t, { 'a.test': ['10.0.0.1', '10.0.0.2'] })
  dns.ttlSeconds = 5
  const clock = new ManualClock(0)
  const gone: string[] = []
  const tools = {
    clock,
    onForgotten: () => undefined,
    onGone: (_group: unknown, peers: readonly Peer[]) => gone.push(...peers.map(({ spec }) => spec.address)),
  }
  const spec = groupOf([server('a.test:80', { isResolved: true }), server('10.0.0.9:80', { isBackup: true })], {
    resolver: specOf(dns.address),
  })
  const group = new UpstreamGroups([spec], tools).get('up') ?? assert.fail()
  assert.equal(group.choose('', []), undefined)
  await group.prepare()
  assert.equal(group.prepare(), undefined)
  const next = () => {
    const peer = group.choose('', []) ?? assert.fail()
    group.release(peer, 'answered')
    return peer.spec.address
  }
  assert.deepEqual([next(), next()].toSorted(), ['10.0.0.1:80', '10.0.0.2:80'])
  dns.names.set('a.test', ['10.0.0.2', '10.0.0.3'])
  clock.advance(5_000)
  await group.prepare()
  assert.deepEqual([gone, [next(), next()].toSorted()], [['10.0.0.1:80'], ['10.0.0.2:80', '10.0.0.3:80']])
  dns.names.delete('a.test')
  clock.advance(5_000)
  await group.prepare()
  assert.equal(next(), '10.0.0.9:80')
})

test('a request waits for the address of its server, and fails if there is none', async (t) => {
  const up = await startRaw(t, (connection) => connection.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  const port = up.address.split(':')[1]
  const dns = await startDns(t, { 'up.test': ['127.0.0.1'] })
  const resolver = specOf(dns.address)
  const origin = originFor(t, groupOf([server(`up.test:${port}`, { isResolved: true })], { resolver }))
  assert.deepEqual([(await ask(origin)).status, (await ask(origin)).status, up.connections.length], [200, 200, 1])
  const none = originFor(t, groupOf([server('none.test:80', { isResolved: true })], { resolver }))
  assert.equal((await ask(none)).error?.code, 'UPSTREAM_UNREACHABLE')
})
