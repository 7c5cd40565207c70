import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { ManualClock, requireProgram, startNginx } from '@svc/testkit'
import type { Peer } from '../src/balance/peer.ts'
import type { UpstreamSpec } from '../src/balance/upstream-group.ts'
import { UpstreamGroup } from '../src/balance/upstream-group.ts'
import { UpstreamGroups } from '../src/balance/upstream-groups.ts'
import { UpstreamError } from '../src/errors/errors.ts'
import { parseNextUpstream } from '../src/http/origin-settings.ts'
import { ServerAttempts } from '../src/http/server-attempts.ts'
import { groupOf, server, startRaw } from './raw-upstream.ts'

function names(group: UpstreamGroup, count: number, client = ''): string {
  const chosen: string[] = []
  for (let i = 0; i < count; i++) {
    const peer = group.choose(client, [])
    chosen.push(peer?.spec.address ?? '-')
    if (peer !== undefined) group.release(peer, 'answered')
  }
  return chosen.join('')
}

function partsOf(clock: ManualClock) {
  return { clock, namesOf: () => assert.fail('no name is to be resolved'), onGone: () => undefined }
}

function group(spec: UpstreamSpec, clock = new ManualClock(0)): UpstreamGroup {
  return new UpstreamGroup(spec, partsOf(clock))
}

function choose(from: UpstreamGroup, tried: readonly Peer[] = []): Peer {
  const peer = from.choose('', tried)
  assert.ok(peer)
  return peer
}

test('servers get turns by their weight, spread evenly', () => {
  assert.equal(names(group(groupOf([server('a'), server('b'), server('c')])), 6), 'abcabc')
  assert.equal(names(group(groupOf([server('a', { weight: 5 }), server('b'), server('c')])), 14), 'aabacaaaabacaa')
})

test('a server that is down gets no turn, and a backup only when all others are out of service', () => {
  assert.equal(names(group(groupOf([server('a', { isDown: true }), server('b'), server('c', { isBackup: true })])), 3), 'bbb')
  const clock = new ManualClock(0)
  const some = group(groupOf([server('a'), server('b', { isBackup: true })]), clock)
  some.release(choose(some), 'failed')
  assert.equal(names(some, 3), 'bbb')
})

test('a server that failed too often is left alone for its time, and then given one chance', () => {
  const clock = new ManualClock(0)
  const some = group(groupOf([server('a', { maxFails: 2 }), server('b')]), clock)
  for (let failures = 0; failures < 2; ) {
    const peer = choose(some)
    const isA = peer.spec.address === 'a'
    some.release(peer, isA ? 'failed' : 'answered')
    if (isA) failures++
  }
  assert.equal(names(some, 4), 'bbbb')
  clock.advance(10_001)
  const seen = names(some, 4)
  assert.ok(seen.includes('a'), seen)
})

test('a chance that is used well puts a server back in service, one that is not does not', () => {
  const clock = new ManualClock(0)
  const some = group(groupOf([server('a'), server('b')]), clock)
  const fail = () => {
    for (;;) {
      const peer = choose(some)
      some.release(peer, peer.spec.address === 'a' ? 'failed' : 'answered')
      if (peer.spec.address === 'a') return
    }
  }
  fail()
  assert.ok(!names(some, 4).includes('a'))
  clock.advance(10_001)
  fail()
  assert.ok(!names(some, 4).includes('a'))
  clock.advance(10_001)
  assert.ok(names(some, 4).includes('a'))
  assert.ok(names(some, 4).includes('a'))
})

test('failures of a server without limit, or without another beside it, do not count', () => {
  const tireless = group(groupOf([server('a', { maxFails: 0 }), server('b')]))
  const only = group(groupOf([server('a')]))
  for (let i = 0; i < 5; i++) {
    tireless.release(choose(tireless), 'failed')
    only.release(choose(only), 'failed')
  }
  assert.match(names(tireless, 4), /a/)
  assert.equal(names(only, 2), 'aa')
})

test('no server is chosen twice for one request', () => {
  const some = group(groupOf([server('a'), server('b')]))
  const first = choose(some)
  const second = choose(some, [first])
  assert.notEqual(first, second)
  assert.equal(some.choose('', [first, second]), undefined)
  const only = group(groupOf([server('a')]))
  assert.equal(only.choose('', [choose(only)]), undefined)
})

test('least_conn chooses the server with the fewest requests for its weight', () => {
  const some = group(groupOf([server('a', { weight: 2 }), server('b')], { balance: 'least_conn' }))
  const under = Array.from({ length: 6 }, () => choose(some))
  assert.equal(under.filter(({ spec }) => spec.address === 'a').length, 4)
  for (const peer of under.filter(({ spec }) => spec.address === 'b')) some.release(peer, 'answered')
  assert.equal(choose(some).spec.address, 'b')
})

test('ip_hash keeps clients of one network together, and moves them only when their server is out of service', () => {
  const some = group(groupOf([server('a'), server('b'), server('c')], { balance: 'ip_hash' }))
  const nets = Array.from({ length: 50 }, (_, i) => `10.1.${i}`)
  for (const net of nets) assert.equal(names(some, 1, `${net}.1`), names(some, 1, `${net}.250`))
  assert.equal(new Set(nets.map((net) => names(some, 1, `${net}.1`))).size, 3)
  assert.equal(names(some, 1, '2001:db8::1'), names(some, 1, '2001:db8:0:0::1'))
  const less = group(groupOf([server('a', { isDown: true }), server('b'), server('c')], { balance: 'ip_hash' }))
  for (const net of nets) {
    const before = names(some, 1, `${net}.1`)
    const after = names(less, 1, `${net}.1`)
    if (before === 'a') assert.notEqual(after, 'a')
    else assert.equal(after, before)
  }
})

test('ip_hash chooses as nginx does', async (t) => {
  const executable = requireProgram(t, 'nginx')
  if (executable === undefined) return
  const ups = await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      startRaw(t, (connection) => connection.send(`HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n${name}`)),
    ),
  )
  // The name of a client that real_ip takes from a field stands for its address.
  const upstream = ups.map(({ address }, index) => `server ${address} weight=${index + 1};`).join(' ')
  const directives = `set_real_ip_from unix:; real_ip_header X-Client; location / { proxy_pass http://hashed; } }
    upstream hashed { ip_hash; ${upstream} } server { listen unix:unused.sock;`
  const { socket } = await startNginx(t, executable, directives)
  const spec = groupOf(
    ups.map((_, index) => server('abc'[index] ?? '', { weight: index + 1 })),
    { balance: 'ip_hash' },
  )
  const own = group(spec)
  for (let i = 0; i < 60; i++) {
    const client = `${10 + i}.${(i * 7) % 256}.${(i * 31) % 256}.9`
    assert.equal(names(own, 1, client), await get(socket, client), client)
  }
})

function get(socketPath: string, client: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const asked = request({ socketPath, path: '/', headers: { host: 'a.test', 'x-client': client } }, (response) => {
    let text = ''
    response.on('data', (data: Buffer) => {
      text += data.toString()
    })
    response.on('end', () => resolve(text))
  })
  asked.on('error', reject)
  asked.end()
  return promise
}

test('a group that has not changed keeps what it knows over a reload', () => {
  const clock = new ManualClock(0)
  const forgotten: string[] = []
  const tools = { clock, onForgotten: (left: UpstreamGroup) => forgotten.push(left.spec.name), onGone: () => undefined }
  const first = new UpstreamGroups([groupOf([server('a')]), groupOf([server('b')], { name: 'other' })], tools)
  const named = first.named('127.0.0.1:80')
  const second = new UpstreamGroups([groupOf([server('a')]), groupOf([server('c')], { name: 'other' })], tools, first)
  assert.equal(second.get('up'), first.get('up'))
  assert.notEqual(second.get('other'), first.get('other'))
  assert.equal(second.named('127.0.0.1:80'), named)
  assert.deepEqual(
    first.leftBy(second).map(({ spec }) => spec.servers[0]?.address),
    ['b'],
  )
})

test('the state of servers goes on in a group that has another server down, and both generations count', () => {
  const tools = { clock: new ManualClock(0), onForgotten: () => undefined, onGone: () => undefined }
  const servers = (isDown: boolean) => [server('a', { maxFails: 1 }), server('b'), server('c', { isDown })]
  const generation = new UpstreamGroups([groupOf(servers(false))], tools)
  const first = generation.get('up') ?? assert.fail()
  const [failing, running, leaving] = [choose(first), choose(first), choose(first)]
  first.release(failing, 'failed')
  const second = new UpstreamGroups([groupOf(servers(true))], tools, generation).get('up') ?? assert.fail()
  assert.equal(names(second, 3), 'bbb')
  const states = () => second.states().map(({ spec, active, isAvoided }) => [spec.address, active, spec.isDown, isAvoided])
  assert.deepEqual(states(), [
    ['a', 0, false, true],
    ['b', 1, false, false],
    ['c', 1, true, false],
  ])
  first.release(running, 'answered')
  first.release(leaving, 'answered')
  assert.deepEqual(
    second.states().map(({ active }) => active),
    [0, 0, 0],
  )
  const third = new UpstreamGroup(groupOf(servers(false)), partsOf(new ManualClock(0)), second)
  assert.ok(names(third, 4).includes('c'))
})

test('a generation takes over the groups that it still has, and those that requests named', () => {
  const forgotten: string[] = []
  const tools = {
    clock: new ManualClock(0),
    onForgotten: (left: UpstreamGroup) => forgotten.push(left.spec.name),
    onGone: () => undefined,
  }
  const direct = (address: string) => ({ ...groupOf([server(address)]), name: address })
  const first = new UpstreamGroups([direct('10.0.0.1:80'), direct('10.0.0.2:80')], tools)
  const [kept, dropped, byRequest] = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'].map((address) => first.named(address))
  const many = Array.from({ length: 1_010 }, (_, port) => direct(`127.0.0.1:${port + 1}`))
  const second = new UpstreamGroups([direct('10.0.0.1:80'), ...many], tools, first)
  for (const { name } of many) second.named(name)
  assert.equal(second.named('10.0.0.1:80'), kept)
  assert.deepEqual([forgotten, second.named('10.0.0.3:80') === byRequest], [[], true])
  assert.deepEqual(first.leftBy(second), [dropped])
})

test('the state of servers is in the order of the configuration, backups among them', () => {
  const spec = groupOf([{ ...server('a:1'), isBackup: true }, server('b:1'), { ...server('a:1'), isDown: true }])
  const states = new UpstreamGroup(spec, partsOf(new ManualClock(0))).states()
  assert.deepEqual(
    states.map((state) => [state.spec.address, state.spec.isBackup, state.spec.isDown]),
    [
      ['a:1', true, false],
      ['b:1', false, false],
      ['a:1', false, true],
    ],
  )
})

test('groups for addresses that requests name are bounded', () => {
  const forgotten: string[] = []
  const tools = {
    clock: new ManualClock(0),
    onForgotten: (left: UpstreamGroup) => forgotten.push(left.spec.name),
    onGone: () => undefined,
  }
  const groups = new UpstreamGroups([], tools)
  for (let port = 1; port <= 1_010; port++) groups.named(`127.0.0.1:${port}`)
  assert.equal(forgotten.length, 10)
  assert.equal(forgotten[0], '127.0.0.1:1')
})

test('a key keeps its server while others come and go, if its hash is consistent', () => {
  const keys = Array.from({ length: 400 }, (_, index) => `key ${index}`)
  const placesOf = (addresses: readonly string[]) => {
    const of = group(
      groupOf(
        addresses.map((address) => server(address)),
        { balance: 'consistent_hash' },
      ),
    )
    return keys.map((key) => names(of, 1, key))
  }
  const [three, two] = [placesOf(['a:1', 'b:1', 'c:1']), placesOf(['a:1', 'c:1'])]
  for (const [place, address] of three.entries()) if (address !== 'b:1') assert.equal(two[place], address)
  for (const address of ['a:1', 'b:1', 'c:1']) assert.ok(three.filter((one) => one === address).length > 80, address)
})

test('without a key, and past servers that are out of service, a group with a hash chooses by weight', () => {
  for (const balance of ['hash', 'consistent_hash'] as const) {
    const of = group(groupOf([server('a'), server('b', { isDown: true }), server('c')], { balance }))
    assert.equal(names(of, 4), 'acac', balance)
    for (let index = 0; index < 50; index++) assert.match(names(of, 1, `key ${index}`), /^[ac]$/)
    const [own] = [of.choose('key', [])]
    const other = of.choose('key', own === undefined ? [] : [own])
    assert.notEqual(other, own)
  }
})

test('a server with as many requests as it may have is passed over, also if it is the only one', () => {
  for (const balance of ['round_robin', 'least_conn', 'ip_hash', 'hash', 'consistent_hash', 'random', 'random_two'] as const) {
    const of = group(groupOf([server('a', { maxConns: 2 }), server('b', { maxConns: 1 })], { balance }))
    const chosen = [1, 2, 3].map(() => of.choose('key', [])?.spec.address)
    assert.deepEqual(chosen.toSorted(), ['a', 'a', 'b'], balance)
    assert.equal(of.choose('key', []), undefined, balance)
  }
  const single = group(groupOf([server('a', { maxConns: 1 })]))
  const first = choose(single)
  assert.equal(single.choose('', []), undefined)
  single.release(first, 'answered')
  assert.equal(choose(single), first)
})

test('chance follows the weights, and of two servers the less loaded one is chosen', () => {
  const light = group(groupOf([server('a', { weight: 9 }), server('b')], { balance: 'random' }))
  const chosen = Array.from({ length: 1_000 }, () => names(light, 1))
  const share = chosen.filter((one) => one === 'b').length
  assert.ok(share > 40 && share < 200, `${share}`)
  const pair = group(groupOf([server('a'), server('b')], { balance: 'random_two' }))
  const busy = choose(pair)
  for (let index = 0; index < 20; index++) assert.notEqual(names(pair, 1), busy.spec.address)
})

test('a request is tried with no more servers, and no later, than its location says', () => {
  const spec = groupOf([server('a'), server('b'), server('c')])
  const failure = new UpstreamError('UPSTREAM_UNREACHABLE', 'down')
  const triesOf = (limits: { maxTries: number; triesMs: number }, stepMs: number) => {
    const clock = new ManualClock(0)
    const settings = { group: group(spec, clock), nextUpstream: parseNextUpstream(['error'], limits) }
    const attempts = new ServerAttempts(settings, { method: 'GET' })
    let tries = 0
    for (let next = attempts.next(undefined, true); !(next instanceof UpstreamError); next = attempts.next(failure, true)) {
      tries++
      clock.advance(stepMs)
    }
    return tries
  }
  assert.equal(triesOf({ maxTries: 0, triesMs: 0 }, 60_000), 3)
  assert.equal(triesOf({ maxTries: 2, triesMs: 0 }, 0), 2)
  assert.equal(triesOf({ maxTries: 0, triesMs: 100 }, 50), 2)
  assert.equal(triesOf({ maxTries: 0, triesMs: 100 }, 100), 1)
})
