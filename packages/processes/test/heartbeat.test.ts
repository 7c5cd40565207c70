import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, CoreError } from '@svc/core'
import { watchHeartbeat } from '../src/child/heartbeat.ts'

/** A clock that stands still until it is moved. */
class ManualClock implements Clock {
  #now = 0
  #tasks: { at: number; task: () => void }[] = []
  now = () => this.#now
  monotonic = () => this.#now
  after(delayMs: number, task: () => void): () => void {
    const entry = { at: this.#now + delayMs, task }
    this.#tasks.push(entry)
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry)
    }
  }
  async advance(byMs: number): Promise<void> {
    this.#now += byMs
    const due = this.#tasks.filter(({ at }) => at <= this.#now)
    this.#tasks = this.#tasks.filter(({ at }) => at > this.#now)
    for (const { task } of due) task()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function watch() {
  const clock = new ManualClock()
  const pings: PromiseWithResolvers<number>[] = []
  const events: string[] = []
  const stop = watchHeartbeat({
    ping: () => {
      const ping = Promise.withResolvers<number>()
      pings.push(ping)
      return ping.promise
    },
    intervalMs: 100,
    timeoutMs: 1000,
    clock,
    onPong: (pong) => events.push(`pong ${pong}`),
    onHang: () => events.push('hang'),
  })
  const timeout = new CoreError('CORE_TIMEOUT', 'no reply')
  return { clock, pings, events, stop, timeout }
}

test('one ping follows the answer to the last after the interval', async () => {
  const { clock, pings, events, stop } = watch()
  await clock.advance(500)
  assert.equal(pings.length, 1)
  pings[0]!.resolve(1)
  await clock.advance(0)
  await clock.advance(100)
  assert.equal(pings.length, 2)
  stop()
  pings[1]!.resolve(2)
  await clock.advance(1000)
  assert.deepEqual(events, ['pong 1'])
  assert.equal(pings.length, 2)
})

test('a ping without answer in time is a hang', async () => {
  const { clock, pings, events, timeout } = watch()
  await clock.advance(1000)
  pings[0]!.reject(timeout)
  await clock.advance(0)
  assert.deepEqual(events, ['hang'])
})

test('a timeout that fires far too late blames no peer: this process was blocked itself', async () => {
  const { clock, pings, events, timeout } = watch()
  await clock.advance(60_000)
  pings[0]!.reject(timeout)
  await clock.advance(0)
  assert.deepEqual(events, [])
  assert.equal(pings.length, 2)
})

test('an exit of the process is not a hang', async () => {
  const { clock, pings, events } = watch()
  pings[0]!.reject(new CoreError('CORE_PEER_GONE', 'gone'))
  await clock.advance(10_000)
  assert.deepEqual(events, [])
  assert.equal(pings.length, 1)
})
