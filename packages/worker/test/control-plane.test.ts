import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createControlPlane } from '../src/control/master-control-plane.ts'

type Parts = Parameters<typeof createControlPlane>[0]

test('a flood of clients that read metrics or health has the master work for two at a time', async () => {
  const calls: { readonly name: string; readonly end: PromiseWithResolvers<unknown> }[] = []
  const call = (name: string) => {
    const end = Promise.withResolvers<unknown>()
    calls.push({ name, end })
    return end.promise
  }
  // Nothing else of the parts is asked for.
  const plane = createControlPlane({ master: { call } } as unknown as Parts)
  const flood = Array.from({ length: 100 }, () => [plane.metrics(), plane.health()] as const).flat()
  assert.deepEqual(
    calls.map(({ name }) => name),
    ['metrics', 'health'],
  )
  for (const { end } of calls.splice(0)) end.resolve({ text: 'first' })
  assert.equal(await flood[0], 'first')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(calls.length, 2, 'the others get what is measured after they asked')
  for (const { end } of calls.splice(0)) end.resolve({ text: 'second' })
  const answers = await Promise.all(flood)
  assert.deepEqual([answers[2], answers.at(-1)], ['second', { text: 'second' }])
  assert.deepEqual(calls, [])
})
