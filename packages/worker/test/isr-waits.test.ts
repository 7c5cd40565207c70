import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { responseKey } from '@svc/cache'
import { deferred } from '@svc/core'
import type { CannedRender } from './canned-renderer.ts'
import { IsrInstance, page } from './isr-instance.ts'
import { shop } from './pipeline-server.ts'

const key = responseKey('shop', '/', { query: false, host: false }, '', '')

/** Resolves when so many requests wait for the render of another. */
async function joined(instance: IsrInstance, wanted: number): Promise<void> {
  while ((await instance.count('cache_stampede_coalesced_total'))[''] !== wanted) await nextTurn()
}

test('when the time of those who wait is over by the time that a lease elsewhere fails, they are not each rendered', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = ({ sink }) => sink.complete(page(), Buffer.from('made'))
  const end = instance.leases.hold(key)
  const answers = Array.from({ length: 50 }, () => server.get('/'))
  // The one that asked for the lease counts when it is refused.
  await joined(instance, 49)
  // The timers of a busy process come late, and after the message.
  instance.clock.advance(60_000)
  end('failed')
  for (const { status } of await Promise.all(answers)) assert.ok(status === 200 || status === 504, String(status))
  // One whose wait is over, and one that got the lease.
  assert.ok(server.renderer.requests.length <= 2, `${server.renderer.requests.length} renders`)
})

test('whoever has waited too long still gets what was stored meanwhile', async (t) => {
  const instance = new IsrInstance()
  const maker = await instance.worker(t, [shop])
  const worker = await instance.worker(t, [shop])
  const begun = deferred<CannedRender>()
  maker.server.renderer.answer = begun.resolve
  const first = maker.server.get('/')
  const { sink } = await begun.promise
  const answers = Array.from({ length: 10 }, () => worker.server.get('/'))
  await joined(instance, 9)
  instance.clock.advance(30_000)
  sink.complete(page(), Buffer.from('made'))
  assert.equal((await first).text, 'made')
  for (const { text } of await Promise.all(answers)) assert.equal(text, 'made')
  assert.equal(worker.server.renderer.requests.length, 0)
})
