import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Gate } from '../src/index.ts'

test('so many tasks run at a time, the others in their order, and one that fails gives its place back', async () => {
  const gate = new Gate(2)
  const begun: number[] = []
  const tasks = Array.from({ length: 4 }, () => Promise.withResolvers<number>())
  const results = tasks.map((task, at) =>
    gate.run(() => {
      begun.push(at)
      return task.promise
    }),
  )
  const failed = assert.rejects(results[1] ?? Promise.resolve(), /broken/)
  assert.deepEqual(begun, [0, 1])
  assert.equal(gate.waiting, 2)
  tasks[1]?.reject(new Error('broken'))
  await failed
  assert.deepEqual(begun, [0, 1, 2])
  for (const at of [0, 2, 3]) tasks[at]?.resolve(at)
  assert.deepEqual(await Promise.all([results[0], results[2], results[3]]), [0, 2, 3])
  assert.equal(gate.waiting, 0)
  assert.equal(await gate.run(async () => 5), 5)
})
