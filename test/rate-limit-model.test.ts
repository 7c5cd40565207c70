// Campaign: random schedules of clients.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Instance } from './rate-limit-instance.ts'

/** A sequence of numbers in [0, 1) that is the same each time. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 0x1_0000_0000
  }
}

const spreads = {
  'to one worker': () => 0,
  'in turn to all workers': (n: number, workers: number) => n % workers,
  'at random': (_n: number, workers: number, random: () => number) => Math.floor(random() * workers),
  'in long runs to each worker': (n: number, workers: number) => Math.floor(n / 37) % workers,
  'nearly all to one worker': (n: number, workers: number) => (n % 50 === 0 ? workers - 1 : 0),
} as const

for (const [budget, workers] of [
  [1, 1],
  [7, 3],
  [60, 2],
  [600, 1],
  [600, 2],
  [600, 8],
  [6_000, 4],
] as const) {
  for (const [name, workerOf] of Object.entries(spreads)) {
    test(`a client that sends evenly at a budget of ${budget} ${name} of ${workers} is never refused`, async () => {
      const instance = new Instance(budget, workers)
      const random = randomFrom(budget + workers)
      const step = 60_000 / budget
      for (let n = 0; n < Math.max(5, 3 * budget); n++) {
        await instance.send(workerOf(n, workers, random), random() < 0.5)
        instance.clock.advance(step)
      }
      assert.equal(instance.refused, 0)
    })

    test(`a client that floods a budget of ${budget} ${name} of ${workers} gets at most 2 % more, and one for each worker`, async () => {
      const instance = new Instance(budget, workers)
      const random = randomFrom(budget * workers)
      // Bursts and pauses, twice the budget in a minute.
      for (let n = 0; n < 6 * budget + 10; n++) {
        await instance.send(workerOf(n, workers, random), random() < 0.5)
        instance.clock.advance(random() < 0.02 ? random() * 50 * (30_000 / budget) : random() < 0.5 ? 0 : 1)
      }
      assert.ok(instance.most <= 1.02 * budget + workers, `${instance.most} passed`)
      assert.ok(instance.most >= Math.min(budget, instance.passes.length), 'the budget can be used up')
      assert.ok(instance.refused > 0, 'the flood was refused')
    })
  }
}

test('requests that come all at once get the whole budget, and no more', async () => {
  const instance = new Instance(600, 4)
  await Promise.all(Array.from({ length: 2_000 }, (_, n) => instance.send(n % 4, n % 3 === 0)))
  assert.ok(instance.passes.length >= 600 && instance.passes.length <= 616, `${instance.passes.length} passed`)
  assert.equal(instance.refused, 2_000 - instance.passes.length)
})
