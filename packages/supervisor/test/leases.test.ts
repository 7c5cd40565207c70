import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { PROXY_LEASE_KIND } from '@svc/cache'
import { type Channel, type Clock, createPortChannel, type Handlers, RpcPeer } from '@svc/core'
import { masterMethods, PROTOCOL_VERSION } from '@svc/protocol'
import { Leases } from '../src/leases/leases.ts'

const a = { name: 'a' }
const b = { name: 'b' }
const c = { name: 'c' }

/** A clock whose timers run when the test says so. */
class ManualClock implements Clock {
  readonly timers = new Map<() => void, number>()
  now = () => 0
  monotonic = () => 0
  after(delayMs: number, task: () => void): () => void {
    this.timers.set(task, delayMs)
    return () => this.timers.delete(task)
  }
  fire(): void {
    const due = [...this.timers.keys()]
    this.timers.clear()
    for (const task of due) task()
  }
}

/** Leases without a connection. `replies`: those that have come, by who asked and for which key. */
function openTable(maxLeases = 10) {
  const clock = new ManualClock()
  const desk = new Leases({ clock, timeoutMs: () => 5000, onExpired: () => undefined, maxLeases })
  const replies = new Map<string, unknown>()
  const ask = (holder: { readonly name: string }, key = 'k') => {
    let abort: () => void = () => undefined
    const onAbort = (listener: () => void) => {
      abort = listener
    }
    const reply = desk.lease(holder, key, { onAbort })
    const note = (value: unknown) => {
      replies.set(`${holder.name} ${key}`, value)
    }
    if (reply instanceof Promise) void reply.then(note)
    else note(reply)
    return () => abort()
  }
  return { desk, clock, replies, ask }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('one holds a key, the others wait, and all wake with the outcome of its end', async () => {
  const { desk, replies, ask } = openTable()
  for (const holder of [a, b, c]) ask(holder)
  ask(b, 'other')
  desk.ended(b, 1, 'stored')
  await turn()
  assert.deepEqual(
    Object.fromEntries(replies),
    { 'a k': { granted: true, id: 1 }, 'b other': { granted: true, id: 2 } },
    'only the holder can end a lease',
  )
  desk.ended(a, 1, 'stored')
  await turn()
  const stored = { granted: false, id: 0, outcome: 'stored' }
  assert.deepEqual([replies.get('b k'), replies.get('c k')], [stored, stored])
  desk.ended(a, 1, 'stored')
  assert.deepEqual([desk.held, desk.waiting], [1, 0])
})

test('a lease passes to the next waiter when its holder disconnects, or exceeds its time', async () => {
  const { desk, clock, replies, ask } = openTable()
  for (const holder of [a, b, c]) ask(holder)
  desk.holderEnded(a)
  await turn()
  assert.deepEqual([replies.get('b k'), replies.get('c k')], [{ granted: true, id: 2 }, undefined])
  clock.fire()
  await turn()
  assert.deepEqual(replies.get('c k'), { granted: true, id: 3 })
  desk.ended(b, 2, 'stored')
  assert.equal(desk.held, 1, 'too late: it is the next one’s now')
  desk.ended(c, 3, 'pass')
  assert.deepEqual([desk.held, desk.waiting, clock.timers.size], [0, 0, 0])
})

test('a waiter that disconnected or timed out is not granted the lease', async () => {
  const { desk, replies, ask } = openTable()
  ask(a)
  ask(b)
  const abort = ask(c)
  desk.holderEnded(b)
  abort()
  abort()
  assert.equal(desk.waiting, 0)
  desk.holderEnded(a)
  await turn()
  assert.deepEqual([desk.held, [...replies.keys()]], [0, ['a k']])
})

test('a key prefix finds fills in flight', () => {
  const clock = { now: () => 0, monotonic: () => 0, after: () => () => undefined }
  const desk = new Leases({ clock, timeoutMs: () => 1, onExpired: () => undefined })
  void desk.lease(a, 'site\0/x\0more', { onAbort: () => undefined })
  assert.deepEqual([desk.isHeld(['other', 'site\0/x\0']), desk.isHeld(['site\0/y']), desk.isHeld([])], [true, false, false])
  desk.ended(a, 1, 'stored')
  assert.equal(desk.isHeld(['site']), false)
})

test('a long key is held in a bounded form, which still differs by its end and is found by its beginning', () => {
  const timeouts: (() => void)[] = []
  const after = (_delayMs: number, task: () => void) => {
    timeouts.push(task)
    return () => undefined
  }
  const expired: string[] = []
  const clock = { now: () => 0, monotonic: () => 0, after }
  const desk = new Leases({ clock, timeoutMs: () => 1, onExpired: (key) => expired.push(key) })
  const long = `site\0/${'x'.repeat(1 << 20)}`
  const ask = (key: string) => desk.lease(a, key, { onAbort: () => undefined })
  assert.deepEqual(
    [ask(`${long}\0one`), ask(`${long}\0other`)],
    [1, 2].map((id) => ({ granted: true, id })),
  )
  assert.deepEqual([desk.isHeld([long]), desk.isHeld(['site\0/']), desk.isHeld(['site\0/y'])], [true, true, false])
  for (const timeout of timeouts) timeout()
  assert.equal(new Set(expired).size, 2)
  assert.ok(
    expired.every(({ length }) => length < 2_000),
    String(expired.map(({ length }) => length)),
  )
})

test('past the bound no lease is recorded, and none is refused', () => {
  const { desk, replies, ask } = openTable(2)
  for (const key of ['1', '2', '3']) ask(a, key)
  for (const [holder, key] of [
    [b, '1'],
    [b, '2'],
    [c, '1'],
  ] as const)
    ask(holder, key)
  const untracked = { granted: true, id: 0 }
  assert.deepEqual([replies.get('a 3'), replies.get('c 1')], [untracked, untracked])
  assert.deepEqual([desk.held, desk.waiting], [2, 2])
})

test('a label that takes all leases it can get leaves some to others, in the proxy cache too', () => {
  for (const kind of ['', `${PROXY_LEASE_KIND}\0`]) {
    const { desk, replies, ask } = openTable(8)
    const greedy = Array.from({ length: 8 }, (_, index) => `${kind}greedy\0/${index}`)
    for (const key of greedy) {
      ask(a, key)
      ask(b, key)
      ask(c, key)
    }
    assert.deepEqual([desk.held, desk.waiting], [4, 4])
    assert.deepEqual(replies.get(`a ${greedy[4]}`), { granted: true, id: 0 })
    ask(a, `${kind}other\0/`)
    assert.deepEqual(replies.get(`a ${kind}other\0/`), { granted: true, id: 5 })
    for (const id of [1, 2, 3]) desk.ended(a, id, 'stored')
    ask(a, `${kind}greedy\0/again`)
    assert.deepEqual(replies.get(`a ${kind}greedy\0/again`), { granted: true, id: 6 })
  }
})

test('a site with the label proxy has the share of a site', () => {
  const { desk, ask } = openTable(8)
  for (let index = 0; index < 8; index++) ask(a, `proxy\0/${index}\0`)
  assert.equal(desk.held, 4)
})

type LeaseMethods = Pick<typeof masterMethods, 'lease' | 'leaseEnded'>
const methods: LeaseMethods = { lease: masterMethods.lease, leaseEnded: masterMethods.leaseEnded }
const none = {} as const

/** Closes the channels of all tests: an open port keeps the process running. */
const channels: Channel[] = []
after(() => {
  for (const channel of channels) channel.close()
})

/** A desk and a way to connect workers to it over the RPC. */
function openDesk() {
  const clock = new ManualClock()
  const expired: string[] = []
  const desk = new Leases({ clock, timeoutMs: () => 5000, onExpired: (key) => expired.push(key) })
  const connectWorker = () => {
    const { port1, port2 } = new MessageChannel()
    const [masterEnd, workerEnd] = [createPortChannel(port1), createPortChannel(port2)]
    channels.push(masterEnd)
    const connection = {}
    const handlers: Handlers<LeaseMethods> = {
      lease: ({ key }, context) => desk.lease(connection, key, context),
      leaseEnded: ({ id, outcome }) => {
        desk.ended(connection, id, outcome)
        return undefined
      },
    }
    const common = { protocolVersion: PROTOCOL_VERSION, onProblem: (error: Error) => assert.fail(error) }
    const master = new RpcPeer({ ...common, channel: masterEnd, local: methods, handlers, remote: none, peerName: 'worker' })
    master.closed.then(() => desk.holderEnded(connection), assert.fail)
    return new RpcPeer({ ...common, channel: workerEnd, local: none, handlers: {}, remote: methods, peerName: 'master' })
  }
  return { desk, clock, expired, connectWorker }
}

const forever = { timeoutMs: Number.POSITIVE_INFINITY }

test('over connections: the second worker waits and learns that the entry is stored', async () => {
  const { desk, connectWorker, clock } = openDesk()
  const [first, second] = [connectWorker(), connectWorker()]
  const lease = await first.call('lease', { key: 'k' }, forever)
  assert.equal(lease.granted, true)
  const waiting = second.call('lease', { key: 'k' }, forever)
  // Its request is there once a later one of the same connection is answered.
  await second.call('leaseEnded', { id: 0, outcome: 'stored' }, forever)
  assert.equal(desk.waiting, 1)
  await second.call('leaseEnded', { id: lease.id, outcome: 'failed' }, forever)
  assert.deepEqual([desk.held, desk.waiting], [1, 1], 'another worker cannot end it')
  await first.call('leaseEnded', { id: lease.id, outcome: 'stored' }, forever)
  assert.deepEqual(await waiting, { granted: false, id: 0, outcome: 'stored' })
  assert.deepEqual([desk.held, desk.waiting, clock.timers.size], [0, 0, 0])
})

test('over connections: a lease outlives neither its worker nor its time', async () => {
  const { desk, connectWorker, clock, expired } = openDesk()
  const [first, second, third] = [connectWorker(), connectWorker(), connectWorker()]
  await first.call('lease', { key: 'k' }, forever)
  const secondWaits = second.call('lease', { key: 'k' }, forever)
  await second.call('leaseEnded', { id: 0, outcome: 'stored' }, forever)
  const thirdWaits = third.call('lease', { key: 'k' }, forever)
  await third.call('leaseEnded', { id: 0, outcome: 'stored' }, forever)
  first.close()
  assert.equal((await secondWaits).granted, true)
  clock.fire()
  assert.deepEqual(expired, ['k'])
  const granted = await thirdWaits
  assert.equal(granted.granted, true)
  await third.call('leaseEnded', { id: granted.id, outcome: 'pass' }, forever)
  assert.deepEqual([desk.held, desk.waiting, clock.timers.size], [0, 0, 0])
})

test('over connections: a worker that stops waiting is forgotten', async () => {
  const { desk, connectWorker } = openDesk()
  const [first, second] = [connectWorker(), connectWorker()]
  const lease = await first.call('lease', { key: 'k' }, forever)
  const call = second.open('lease', { key: 'k' }, forever)
  await second.call('leaseEnded', { id: 0, outcome: 'stored' }, forever)
  assert.equal(desk.waiting, 1)
  call.abort()
  await assert.rejects(call.reply, { code: 'CORE_ABORTED' })
  await second.call('leaseEnded', { id: 0, outcome: 'stored' }, forever)
  assert.equal(desk.waiting, 0)
  await first.call('leaseEnded', { id: lease.id, outcome: 'failed' }, forever)
  assert.equal(desk.held, 0)
})

test('a request that a worker sent just before its exit is read afterwards, and blocks no other', async () => {
  const { desk, clock } = openDesk()
  const context = { onAbort: () => undefined }
  desk.holderEnded(a)
  assert.deepEqual(await desk.lease(a, 'k', context), { granted: true, id: 0 })
  assert.deepEqual([desk.held, clock.timers.size], [0, 0])
  assert.equal((await desk.lease(b, 'k', context)).granted, true)
})
