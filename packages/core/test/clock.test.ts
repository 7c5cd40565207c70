import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../src/index.ts'

test('the time of a turn stands still until its end, and never goes back or ahead', async () => {
  for (let round = 0; round < 3; round++) {
    const before = systemClock.monotonic()
    const first = systemClock.turn()
    while (systemClock.monotonic() === before);
    assert.equal(systemClock.turn(), first)
    assert.ok(first >= before && first < systemClock.monotonic())
    await nextTurn()
  }
})
