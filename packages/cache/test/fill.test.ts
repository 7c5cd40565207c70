import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FillEnd } from '../src/index.ts'
import { bench, Client, entry, KEY, LEASE, purgeOf, ScriptedPolicy } from './fill-bench.ts'

describe('a fill', () => {
  test('is led by the first request, and the others get what it offers', async () => {
    const { open, fills, ledger } = bench()
    const [first, second, third] = [new Client('first'), new Client('second'), new Client('third')]
    const { policy, fill } = open({}, first, second)
    assert.deepEqual(policy.produced, [first])
    assert.deepEqual([fill.waiting, second.got], [1, undefined])
    policy.value = 'value'
    fill.offer()
    assert.equal(second.got, 'value')
    fills.joinable(KEY)?.join(third)
    assert.equal(third.got, 'value', 'who joins before the end')
    fill.end({ kind: 'stored' })
    assert.deepEqual(
      [first, second, third].flatMap(({ reasons }) => reasons),
      [],
    )
    assert.deepEqual(await fill.ended, { kind: 'stored' })
    assert.deepEqual([fills.size, fills.joinable(KEY), ledger.kept], [0, undefined, 0])
  })

  test('lets each request know how it ended, once', () => {
    const ends: FillEnd[] = [
      { kind: 'stored' },
      { kind: 'refused' },
      { kind: 'lost' },
      { kind: 'pass', detail: 'cookies' },
      { kind: 'unshared', detail: 'status' },
      { kind: 'failed', error: new Error('away') },
    ]
    for (const end of ends) {
      const { open, fills } = bench()
      const waiter = new Client('waiter')
      const { policy, fill } = open({}, new Client('leader'), waiter)
      fill.end(end)
      fill.end({ kind: 'stored' })
      assert.deepEqual([waiter.reasons, policy.ends], [[end], [end]])
      assert.equal(fills.joinable(KEY), undefined)
    }
  })

  test('opens the way for the next before it lets its requests go: what they begin is a fill of its own', () => {
    const { open, fills } = bench()
    const waiter = new Client('waiter')
    const { policy, fill } = open({}, new Client('leader'), waiter)
    let next: ScriptedPolicy | undefined
    policy.dismiss = (client) => {
      assert.equal(fills.joinable(KEY), undefined)
      next = open({}, client).policy
    }
    fill.end({ kind: 'lost' })
    assert.deepEqual(next?.produced, [waiter])
  })

  test('fails for all when its producer throws, and says so', () => {
    const { fills, problems } = bench()
    const policy = new ScriptedPolicy()
    policy.isBroken = true
    const fill = fills.open(KEY, policy)
    const [leader, waiter] = [new Client('leader'), new Client('waiter')]
    fill.join(leader)
    fill.join(waiter)
    fill.start()
    assert.deepEqual([waiter.kinds, problems.map(({ message }) => message)], ['failed', ['broken producer']])
    assert.equal(leader.kinds, 'failed', 'nothing else answers it')
    assert.equal(fills.size, 0)
  })

  test('leaves no request waiting because another one could not be answered', async () => {
    const { open, problems } = bench()
    const [broken, second, third] = [new Client('broken'), new Client('second'), new Client('third')]
    const { policy, fill } = open({}, new Client('leader'), broken, second)
    const { give, dismiss } = { give: policy.give.bind(policy), dismiss: policy.dismiss.bind(policy) }
    const check = (client: Client) => assert.notEqual(client, broken, 'a broken client')
    policy.give = (client) => {
      check(client)
      return give(client)
    }
    policy.dismiss = (client, reason) => {
      check(client)
      dismiss(client, reason)
    }
    policy.value = 'value'
    fill.offer()
    assert.equal(second.got, 'value')
    policy.give = () => 'wait'
    fill.join(broken)
    fill.join(third)
    fill.end({ kind: 'lost' })
    assert.equal(third.kinds, 'lost')
    assert.deepEqual(await fill.ended, { kind: 'lost' })
    assert.equal(problems.length, 3)
  })

  test('lets one go whose deadline passes, and no one who left or was served', () => {
    const { clock, fills } = bench()
    const policy = new ScriptedPolicy()
    const fill = fills.open(KEY, policy)
    const clients = ['leader', 'late', 'gone', 'patient'].map((name) => new Client(name))
    const [leader, late, gone, patient] = clients as [Client, Client, Client, Client]
    for (const client of [leader, late, gone]) fill.join(client, clock.monotonic() + 30)
    fill.join(patient)
    fill.start()
    assert.equal(fill.leave(gone), true)
    assert.equal(fill.leave(gone), false)
    clock.advance(29)
    assert.equal(late.kinds, '')
    clock.advance(1)
    assert.deepEqual(
      clients.map(({ kinds }) => kinds),
      ['', 'late', '', ''],
    )
    fill.end({ kind: 'stored' })
    assert.deepEqual(
      clients.map(({ kinds }) => kinds),
      ['', 'late', '', 'stored'],
    )
    assert.equal(clock.timers, 0)
  })

  test('lets one go at once that joins when its deadline has passed', () => {
    const { clock, open } = bench()
    const { fill } = open({}, new Client('leader'))
    const late = new Client('late')
    fill.join(late, clock.monotonic() - 5)
    clock.advance(0)
    assert.equal(late.kinds, 'late')
  })

  test('keeps a request waiting that what it offers is not for, or lets it look again, as the policy says', () => {
    for (const refuse of ['wait', 'again'] as const) {
      const { open, ledger } = bench()
      const { policy, fill } = open({}, new Client('leader'))
      policy.refuse = refuse
      policy.value = 'old'
      ledger.add(purgeOf(1))
      const after = new Client('after', 1)
      fill.join(after)
      fill.offer()
      assert.deepEqual([after.got, after.kinds], [undefined, refuse === 'wait' ? '' : 'lost'])
      fill.end({ kind: 'lost' })
      assert.equal(after.kinds, 'lost')
    }
  })

  test('gives a request nothing that leaves while another one is served', () => {
    const { open } = bench()
    const [second, third] = [new Client('second'), new Client('third')]
    const { policy, fill } = open({}, new Client('leader'), second, third)
    const give = policy.give.bind(policy)
    policy.value = 'value'
    policy.give = (client) => {
      fill.leave(third)
      return give(client)
    }
    fill.offer()
    assert.deepEqual([second.got, third.got], ['value', undefined])
  })
})

describe('a purge', () => {
  test('that overtakes a fill prevents storing it, and keeps later requests from joining it', () => {
    const { open, fills, ledger } = bench()
    const { fill } = open({}, new Client('leader'))
    assert.equal(fills.joinable(KEY, entry), fill)
    ledger.add(purgeOf(1))
    assert.equal(fill.mayStore(entry), false)
    assert.equal(fill.mayStore({ ...entry, label: 'other' }), true)
    assert.equal(fills.joinable(KEY, entry), undefined)
    assert.equal(fills.joinable(KEY), fill, 'a policy that cannot know in advance decides later')
    const next = open({}, new Client('next'))
    assert.equal(fills.joinable(KEY, entry), next.fill)
    fill.end({ kind: 'lost' })
    assert.equal(fills.joinable(KEY, entry), next.fill, 'the end of the older one changes nothing')
  })

  test('before the value began to be produced does not matter', async () => {
    const { open, fills, ledger, desk } = bench()
    const { fill } = open({ lease: LEASE }, new Client('leader'))
    ledger.add(purgeOf(1))
    assert.equal(fills.joinable(KEY, entry), fill)
    await desk.answer({ granted: true, id: 1 })
    assert.deepEqual([fill.seq, fill.mayStore(entry)], [1, true])
  })

  test('is remembered as long as a fill is in flight that is older', () => {
    const { open, ledger } = bench()
    const { fill } = open({}, new Client('leader'))
    ledger.add(purgeOf(1))
    ledger.settled(1)
    assert.equal(ledger.kept, 1)
    fill.end({ kind: 'lost' })
    assert.equal(ledger.kept, 0)
  })
})

test('a private fill is joined by none, and counts', () => {
  const { open, fills } = bench()
  const { fill } = open({ isPrivate: true }, new Client('leader'))
  assert.deepEqual([fills.joinable(KEY), fills.size, fills.policies.length], [undefined, 1, 1])
  fill.end({ kind: 'lost' })
  assert.equal(fills.size, 0)
})
