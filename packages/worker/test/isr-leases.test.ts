import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Deferred, deferred } from '@svc/core'
import type { LeaseOutcome, LeaseReply } from '@svc/protocol'
import { acquireLease, type LeaseDesk } from '../src/isr/leases.ts'

/** A desk that answers when the test says so. */
class ScriptedDesk implements LeaseDesk {
  readonly reply: Deferred<LeaseReply> = deferred()
  readonly ended: (readonly [id: number, outcome: LeaseOutcome])[] = []

  lease(): Promise<LeaseReply> {
    return this.reply.promise
  }

  leaseEnded(id: number, outcome: LeaseOutcome): void {
    this.ended.push([id, outcome])
  }

  async isHeld(): Promise<boolean> {
    return false
  }
}

/** Lets promises of this process settle. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('a lease that comes when nobody waits for it any more is given back at once', async () => {
  const desk = new ScriptedDesk()
  const answer = await acquireLease(desk, 'k', 1)
  assert.ok(answer.kind === 'granted')
  answer.lease.end('stored')
  assert.deepEqual(desk.ended, [])
  desk.reply.resolve({ granted: true, id: 7, outcome: undefined })
  await nextTurn()
  assert.deepEqual(desk.ended, [[7, 'failed']])
})

test('the end of another lease is nothing to give back, nor is the end of the desk', async () => {
  for (const settle of [
    (desk: ScriptedDesk) => desk.reply.resolve({ granted: false, id: 0, outcome: 'stored' }),
    (desk: ScriptedDesk) => desk.reply.reject(new Error('gone')),
  ]) {
    const desk = new ScriptedDesk()
    assert.equal((await acquireLease(desk, 'k', 1)).kind, 'granted')
    settle(desk)
    await nextTurn()
    assert.deepEqual(desk.ended, [])
  }
})
