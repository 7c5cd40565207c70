import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ManualClock } from '@svc/testkit'
import { type FillEnd, type LeaseOutcome, PassMemory, RetryPauses } from '../src/index.ts'
import { bench, Client, KEY, LEASE, settle } from './fill-bench.ts'

describe('a lease', () => {
  test('is asked for first, and goes back with the outcome', async () => {
    const outcomes: readonly (readonly [FillEnd, LeaseOutcome])[] = [
      [{ kind: 'stored' }, 'stored'],
      [{ kind: 'refused' }, 'pass'],
      [{ kind: 'lost' }, 'failed'],
      [{ kind: 'pass', detail: '' }, 'pass'],
      [{ kind: 'unshared', detail: '' }, 'failed'],
      [{ kind: 'failed', error: undefined }, 'failed'],
    ]
    for (const [end, outcome] of outcomes) {
      const { open, desk } = bench()
      const { policy, fill } = open({ lease: LEASE }, new Client('leader'))
      assert.equal(policy.produced.length, 0)
      await desk.answer({ granted: true, id: 7 })
      assert.equal(policy.produced.length, 1)
      fill.end(end)
      assert.deepEqual(desk.ended, [[7, outcome]])
    }
  })

  test('of another process ends the wait: all look at what it left behind', async () => {
    const { open, desk } = bench()
    const clients = [new Client('first'), new Client('second')]
    const { policy } = open({ lease: LEASE }, ...clients)
    await desk.answer({ outcome: 'pass' })
    assert.deepEqual(
      clients.map(({ reasons }) => reasons),
      [[policy.ends[0]], [policy.ends[0]]],
    )
    assert.deepEqual([policy.ends, policy.produced, desk.ended], [[{ kind: 'elsewhere', outcome: 'pass' }], [], []])
  })

  test('of another process that failed is replaced by one that waits for none, where it is optional', async () => {
    const { open, desk } = bench()
    const waiter = new Client('waiter')
    const { policy, fill } = open({ lease: { ...LEASE, isOptional: true } }, new Client('leader'), waiter)
    await desk.answer({ outcome: 'failed' })
    assert.deepEqual([policy.produced.length, desk.asked.length, fill.isLeased], [0, 2, false])
    await desk.answer({ granted: true, id: 2 })
    assert.deepEqual([policy.produced.length, waiter.kinds, fill.isLeased], [1, '', true])
    assert.match(desk.keys[1] ?? '', new RegExp(`^${desk.keys[0]}\0.`))
  })

  test('that does not come in time is done without, and goes back when it comes after all', async () => {
    const { open, clock, desk } = bench()
    const { policy, fill } = open({ lease: LEASE }, new Client('leader'))
    clock.advance(1_000)
    await settle()
    assert.equal(policy.produced.length, 1)
    fill.end({ kind: 'stored' })
    assert.deepEqual(desk.ended, [])
    await desk.answer({ granted: true, id: 3 })
    assert.deepEqual(desk.ended, [[3, 'failed']])
  })

  test('is skipped when the lease desk is unavailable', async () => {
    const { open, desk } = bench()
    const { policy } = open({ lease: LEASE }, new Client('leader'))
    desk.asked[0]?.reject(new Error('the master is gone'))
    await settle()
    assert.equal(policy.produced.length, 1)
  })

  test('that is granted when the value is there, or not wanted any more, goes back at once', async () => {
    for (const [answer, outcome] of [
      ['stored', 'stored'],
      ['lost', 'failed'],
    ] as const) {
      const { open, desk } = bench()
      const waiter = new Client('waiter')
      const { policy } = open({ lease: LEASE }, waiter)
      policy.readyAnswer = answer
      await desk.answer({ granted: true, id: 1 })
      assert.deepEqual([policy.produced, waiter.kinds, desk.ended], [[], answer, [[1, outcome]]])
    }
  })

  test('that is granted when all clients have left goes back at once, and one that came meanwhile leads', async () => {
    for (const isJoined of [false, true]) {
      const { open, desk, fills } = bench()
      const [gone, next] = [new Client('gone'), new Client('next')]
      const { policy, fill } = open({ lease: LEASE }, gone)
      fill.leave(gone)
      if (isJoined) fills.joinable(KEY)?.join(next)
      await desk.answer({ granted: true, id: 1 })
      assert.deepEqual(policy.produced, isJoined ? [next] : [])
      assert.deepEqual(desk.ended, isJoined ? [] : [[1, 'failed']])
    }
  })

  test('makes others wait no longer than its limit, and is exchanged for one of its own while the fill goes on', async () => {
    const { open, clock, desk } = bench()
    const { fill } = open({ lease: { ...LEASE, limitMs: 30 } }, new Client('leader'))
    await desk.answer({ granted: true, id: 1 })
    clock.advance(29)
    fill.limitLease(5)
    clock.advance(4)
    assert.deepEqual([desk.ended, fill.isEnded], [[], false])
    clock.advance(1)
    assert.deepEqual(desk.ended, [])
    await desk.answer({ granted: true, id: 2 })
    assert.deepEqual([desk.ended, fill.isEnded, fill.isLeased], [[[1, 'failed']], false, true])
    clock.advance(30_000)
    await desk.answer({ granted: true, id: 3 })
    assert.deepEqual([desk.ended.slice(1), fill.isLeased], [[[2, 'failed']], true])
    fill.end({ kind: 'stored' })
    assert.deepEqual(desk.ended.slice(2), [[3, 'stored']])
    assert.equal(clock.timers, 0)
  })

  test('is lost when it cannot be exchanged in time, and one that comes late goes back', async () => {
    for (const isEnded of [false, true]) {
      const { open, clock, desk } = bench()
      const { fill } = open({ lease: { ...LEASE, limitMs: 30 } }, new Client('leader'))
      await desk.answer({ granted: true, id: 1 })
      clock.advance(30)
      if (isEnded) fill.end({ kind: 'stored' })
      else clock.advance(30_000)
      await settle()
      await desk.answer({ granted: true, id: 2 })
      assert.equal(fill.isLeased, isEnded)
      assert.deepEqual(desk.ended, [
        [1, isEnded ? 'stored' : 'failed'],
        [2, 'failed'],
      ])
    }
  })
})

describe('a refresh', () => {
  test('needs no client, and later clients join it', () => {
    const { open, fills } = bench()
    const { policy, fill } = open({ isRefresh: true })
    assert.deepEqual(policy.produced, [undefined])
    const client = new Client('client')
    fills.joinable(KEY)?.join(client)
    policy.value = 'value'
    fill.offer()
    assert.equal(client.got, 'value')
  })

  test('of one label alone finds room beside at most 31 others', () => {
    const { open, fills } = bench()
    const opened = []
    while (fills.hasRoomToRefresh(KEY)) opened.push(open({ isRefresh: true, isPrivate: true }).fill)
    assert.equal(opened.length, 32)
    open({}, new Client('client'))
    opened[0]?.end({ kind: 'stored' })
    assert.equal(fills.hasRoomToRefresh(KEY), true)
  })

  test('of one label leaves room for those of other labels', () => {
    const { open, fills } = bench()
    for (const label of ['a', 'b', 'c']) {
      const key = `${label}\0/`
      let count = 0
      for (; fills.hasRoomToRefresh(key); count++) open({ isRefresh: true, isPrivate: true, key })
      assert.ok(count > 0, label)
      assert.equal(fills.hasRoomToRefresh(`${label}\0/other`), false)
    }
    assert.equal(fills.hasRoomToRefresh('d\0/'), true)
  })

  test('that failed is not tried again for a while that grows, until it succeeds', () => {
    const clock = new ManualClock()
    const pauses = new RetryPauses(clock, (failures) => 1_000 * 2 ** (failures - 1))
    assert.equal(pauses.isPaused(KEY), false)
    for (const pauseMs of [1_000, 2_000, 4_000]) {
      pauses.failed(KEY)
      clock.advance(pauseMs - 1)
      assert.equal(pauses.isPaused(KEY), true)
      clock.advance(1)
      assert.equal(pauses.isPaused(KEY), false)
    }
    pauses.failed(KEY)
    pauses.succeeded(KEY)
    assert.equal(pauses.isPaused(KEY), false)
    pauses.failed(KEY)
    pauses.forgetLabel('other')
    assert.equal(pauses.isPaused(KEY), true)
    pauses.forgetLabel('site')
    assert.equal(pauses.isPaused(KEY), false)
  })
})

test('keys that clients make up take no more memory than short ones', () => {
  const clock = new ManualClock()
  const [passes, pauses] = [new PassMemory(clock), new RetryPauses(clock, () => 1_000)]
  const keyOf = (number: number) => `site\0/${'x'.repeat(16_000)}${number}`
  for (let number = 0; number < 1_000; number++) {
    passes.add(keyOf(number), 'no-lifetime')
    pauses.failed(keyOf(number))
  }
  assert.ok(passes.size <= 262, `${passes.size} keys of 16 KB`)
  assert.deepEqual([passes.get(keyOf(999)), pauses.isPaused(keyOf(999))], ['no-lifetime', true])
  assert.deepEqual([passes.get(keyOf(0)), pauses.isPaused(keyOf(0))], [undefined, false])
  passes.clear()
  passes.add(keyOf(0), 'size')
  assert.equal(passes.size, 1)
})
