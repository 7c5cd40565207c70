import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ManualClock } from '@svc/testkit'
import { createLogRelay, type LogLine } from '../src/index.ts'

const line = (text: string): LogLine => ({ at: 0, level: 30, site: '', text })

interface Sent {
  readonly items: readonly LogLine[]
  readonly dropped: number
}

test('a receiver that hangs costs lines, which are counted, and no memory beyond a batch', async () => {
  const clock = new ManualClock()
  const relay = createLogRelay(clock)
  const sent: Sent[] = []
  const first = Promise.withResolvers<void>()
  relay.take(line('early'))
  relay.connect((batch) => {
    sent.push(batch)
    return sent.length === 1 ? first.promise : Promise.resolve()
  })
  clock.advance(100)
  for (let i = 0; i < 10_000; i++) relay.take(line(`line ${i}`))
  clock.advance(60_000)
  assert.deepEqual(
    sent.map(({ items }) => items.map(({ text }) => text)),
    [['early']],
  )
  first.resolve()
  await turn()
  clock.advance(100)
  const second = sent[1]
  assert.ok(second !== undefined && second.items.length <= 1000, 'a batch is bounded')
  assert.equal(second.items.length + second.dropped, 10_000)
  assert.equal(second.items[0]?.text, 'line 0')
})

test('long lines count by their length, and lines of a batch that failed count as dropped', async () => {
  const clock = new ManualClock()
  const relay = createLogRelay(clock)
  const sent: Sent[] = []
  relay.connect((batch) => {
    sent.push(batch)
    return sent.length === 1 ? Promise.reject(new Error('gone')) : Promise.resolve()
  })
  for (let i = 0; i < 100; i++) relay.take(line('x'.repeat(8000)))
  clock.advance(100)
  await turn()
  assert.ok((sent[0]?.items.length ?? 0) < 20)
  relay.take(line('after'))
  clock.advance(100)
  assert.deepEqual([sent[1]?.items.map(({ text }) => text), sent[1]?.dropped], [['after'], 100])
})
