import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GuestTimers } from '../src/thread/guest-timers.ts'

/** Timers that tell when so many of them have fired. */
function collecting(count: number): { timers: GuestTimers; entries: number[][]; all: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const entries: number[][] = []
  const timers = new GuestTimers((timerIds) => {
    entries.push([...timerIds])
    if (entries.flat().length === count) resolve()
  })
  return { timers, entries, all: promise }
}

test('no entry of the isolate fires two timers of one request, and they keep their order', async () => {
  const { timers, entries, all } = collecting(40)
  // Ten requests, and what runs outside of any, with four timers each: the number of the request is the tens of the id.
  for (let nth = 0; nth < 4; nth++) for (let request = 0; request < 10; request++) timers.set(request * 10 + nth, 0, request)
  await all
  for (const entry of entries) {
    const requests = entry.map((id) => Math.floor(id / 10))
    assert.equal(new Set(requests).size, requests.length, `one entry fired ${entry.join(', ')}`)
  }
  for (let request = 0; request < 10; request++) {
    const order = entries.flat().filter((id) => Math.floor(id / 10) === request)
    assert.deepEqual(
      order,
      [0, 1, 2, 3].map((nth) => request * 10 + nth),
    )
  }
})

test('cleared timers do not fire, and no timer fires after the end', async () => {
  const { timers, entries, all } = collecting(1)
  timers.set(1, 0, 1)
  timers.set(2, 0, 2)
  timers.clear(1)
  await all
  assert.deepEqual(entries, [[2]])
  timers.set(3, 0, 3)
  timers.clearAll()
  const { timers: others, all: othersFired } = collecting(1)
  others.set(4, 0, 4)
  await othersFired
  assert.deepEqual(entries, [[2]])
})
