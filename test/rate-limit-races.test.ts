// Requests that workers decide on while the reply of the master is late.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { CLIENT, Instance } from './rate-limit-instance.ts'

/** Replies of the master are held until `release`. */
function holdReplies(instance: Instance): () => void {
  const held = Promise.withResolvers<void>()
  instance.hold = () => held.promise
  return () => {
    instance.hold = async () => undefined
    held.resolve()
  }
}

/** Requests of the client that the master counts, once workers have given back what they did not use. */
async function countedOf(instance: Instance): Promise<number> {
  for (let i = 0; i < 3; i++) {
    await turn()
    instance.clock.advance(1_000)
  }
  return instance.limits.list().clients.find(({ client }) => client === CLIENT)?.requests ?? 0
}

for (const workers of [1, 3]) {
  test(`a budget is used up in one burst on ${workers} while the master is held up: none is refused, each counts once`, async () => {
    const instance = new Instance(60, workers)
    // The master knows the client, and has handed out slices of this second.
    for (let n = 0; n < workers; n++) await instance.send(n, false)
    const release = holdReplies(instance)
    await Promise.all(Array.from({ length: 60 - 2 * workers }, (_, n) => instance.send(n % workers, n % 2 === 0)))
    assert.equal(instance.refused, 0)
    release()
    // Figures of requests that no slice pays for go with the next order.
    for (let n = 0; n < workers; n++) await instance.send(n, false)
    assert.equal(instance.refused, 0)
    assert.equal(instance.passes.length, 60)
    assert.equal(await countedOf(instance), 60)
  })
}

test('a slice that comes after its second is given back, and the requests that passed before it count', async () => {
  const instance = new Instance(60, 1)
  await instance.send(0, false)
  await countedOf(instance)
  const release = holdReplies(instance)
  await Promise.all(Array.from({ length: 50 }, () => instance.send(0, false)))
  instance.clock.advance(5_000)
  release()
  assert.equal(await countedOf(instance), 51)
  assert.equal(instance.refused, 0)
})

test('a master that does not reply does not let a flood pass: a worker hands out its part of what was left', async () => {
  const instance = new Instance(600, 4)
  holdReplies(instance)
  await Promise.all(Array.from({ length: 2_000 }, (_, n) => instance.send(n % 4, false)))
  // One ahead of the count, an even share of a second and a quarter of the budget in each worker.
  assert.equal(instance.passes.length, 4 * (1 + 10 + 150))
  assert.equal(instance.refused, 2_000 - instance.passes.length)
})
