import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pinKeys } from '@svc/config'
import { coalesce } from '@svc/core'

test('requests during a run share the next one, also after a failure', async () => {
  const runs: PromiseWithResolvers<number>[] = []
  const ask = coalesce(() => {
    const run = Promise.withResolvers<number>()
    runs.push(run)
    return run.promise
  })
  const first = ask()
  const second = ask()
  const third = ask()
  assert.equal(runs.length, 1)
  runs[0]!.reject(new Error('broken'))
  await assert.rejects(first, /broken/)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(runs.length, 2)
  const fourth = ask()
  runs[1]!.resolve(2)
  assert.deepEqual(await Promise.all([second, third]), [2, 2])
  await new Promise((resolve) => setImmediate(resolve))
  runs[2]!.resolve(3)
  assert.equal(await fourth, 3)
  const fifth = ask()
  assert.equal(runs.length, 4)
  runs[3]!.resolve(4)
  assert.equal(await fifth, 4)
})

test('keys that need a restart keep their running value, and the rest is new', () => {
  const running = { server: { workers: 1, listen: 'a' }, redis: { pool_size: 1 } }
  const next = Object.freeze({ server: { workers: 4, listen: 'b' }, redis: { url: 'redis://x', pool_size: 1 } })
  const pinned = pinKeys<object>(next, running, ['server.workers', 'redis.url'])
  assert.deepEqual(pinned, { server: { workers: 1, listen: 'b' }, redis: { pool_size: 1 } })
  assert.ok(Object.isFrozen(pinned))
  assert.equal(next.server.workers, 4)
  assert.equal(pinKeys<object>(next, running, []), next)
})
