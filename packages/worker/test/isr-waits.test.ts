import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { responseKey } from '@svc/cache'
import { AppError } from '@svc/core'
import { waitFor } from '@svc/testkit'
import type { CannedRender } from './canned-renderer.ts'
import { facts, holdRenders, IsrInstance, page, settle } from './isr-instance.ts'
import { shop } from './pipeline-server.ts'

const key = responseKey('shop', '/', { query: false, host: false }, '', '')

test('a request waits no longer than a render may take', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop], '[render]\ntimeout_ms = 1\n')
  worker.server.renderer.answer = ({ sink }) => sink.complete(page(), Buffer.from('alone'))
  const end = instance.leases.hold(key)
  const answer = worker.server.get('/')
  await settle()
  instance.clock.advance(1)
  assert.equal((await answer).text, 'alone')
  end('failed')
})

test('waiters time out like renders, and do not all render a stalled page', async (t) => {
  for (const isHeldElsewhere of [false, true]) {
    const instance = new IsrInstance()
    const worker = await instance.worker(t, [shop], '[render]\ntimeout_ms = 30\n')
    const held = holdRenders(worker)
    const end = isHeldElsewhere ? instance.leases.hold(key) : undefined
    const gone = new AbortController()
    const answers = Array.from({ length: 50 }, () => worker.server.get('/', { signal: gone.signal }))
    const waiting = new Set(answers)
    const statuses: number[] = []
    for (const answer of answers) {
      answer.then(({ status }) => {
        if (waiting.delete(answer)) statuses.push(status)
      }, assert.fail)
    }
    await settle()
    instance.clock.advance(30)
    // One renders what it began, or what it waited for in vain; in the second case the next one leads without a lease.
    while (waiting.size > (isHeldElsewhere ? 2 : 1)) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual([...new Set(statuses)], [504])
    assert.ok(held.length >= 1 && held.length <= 2, String(held.length))
    waiting.clear()
    gone.abort()
    await Promise.allSettled(answers)
    for (const { sink } of held) sink.fail(new AppError('RENDER_TIMEOUT', 'too slow', { status: 504 }))
    end?.('failed')
  }
})

test('a stream without an end keeps no request waiting, and holds on to no purges', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop], '[render]\ntimeout_ms = 100\n')
  const held = holdRenders(worker)
  const gone = new AbortController()
  const events: string[] = []
  const leader = worker.server.get('/api', { onChunk: (chunk) => events.push(chunk.toString()), signal: gone.signal })
  await settle()
  held[0]?.sink.head({ status: 200, headers: [['content-type', 'text/event-stream']] })
  const waiter = worker.server.get('/api')
  await settle()
  instance.clock.advance(100)
  while (held.length < 2) await new Promise((resolve) => setImmediate(resolve))
  held[1]?.sink.complete(page(), Buffer.from('own'))
  assert.equal((await waiter).text, 'own')
  while (instance.leases.held > 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(instance.leases.outcomes, ['pass'])
  const next = worker.server.get('/api')
  await settle()
  held[2]?.sink.complete(page(facts([], 60)), Buffer.from('at once'))
  assert.equal((await next).text, 'at once')
  await instance.purge({})
  assert.equal(worker.server.ledger.kept, 0)
  held[0]?.sink.chunk(Buffer.from('event'), () => undefined)
  await settle()
  // The comment is what a stream of events begins with when no event comes at first.
  assert.deepEqual(events, [':\n\n', 'event'])
  gone.abort()
  await leader
})

/** Resolves when so many requests wait for the render of another. */
async function joined(instance: IsrInstance, wanted: number): Promise<void> {
  while ((await instance.count('cache_stampede_coalesced_total'))[''] !== wanted) await nextTurn()
}

test('waiters that have timed out when a lease elsewhere fails do not each render', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  server.renderer.answer = ({ sink }) => sink.complete(page(), Buffer.from('made'))
  const end = instance.leases.hold(key)
  const answers = Array.from({ length: 50 }, () => server.get('/'))
  // The one that asked for the lease counts when it is refused.
  await joined(instance, 49)
  // The timers of a busy process come late, and after the message.
  instance.clock.stall(60_000)
  end('failed')
  await settle()
  instance.clock.advance(0)
  for (const { status } of await Promise.all(answers)) assert.ok(status === 200 || status === 504, String(status))
  // One that stopped waiting, and one that got the lease.
  assert.ok(server.renderer.requests.length <= 2, `${server.renderer.requests.length} renders`)
})

test('a waiter that timed out still gets a page that was stored meanwhile', async (t) => {
  const instance = new IsrInstance()
  const maker = await instance.worker(t, [shop])
  const worker = await instance.worker(t, [shop])
  const begun = Promise.withResolvers<CannedRender>()
  maker.server.renderer.answer = begun.resolve
  const first = maker.server.get('/')
  const { sink } = await begun.promise
  const answers = Array.from({ length: 10 }, () => worker.server.get('/'))
  await joined(instance, 9)
  instance.clock.stall(30_000)
  sink.complete(page(), Buffer.from('made'))
  assert.equal((await first).text, 'made')
  for (const { text } of await Promise.all(answers)) assert.equal(text, 'made')
  assert.equal(worker.server.renderer.requests.length, 0)
})

test('purges that come faster than a page is made do not make everybody render it', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const held = holdRenders(worker)
  const answers: Promise<{ text: string }>[] = []
  for (let round = 0; round < 8; round++) {
    for (let i = 0; i < 20; i++) answers.push(worker.server.get('/'))
    await settle()
    assert.equal(held.length, round + 1)
    await instance.purge({ scopes: [{ kind: 'tags', tags: ['route:shop:/'] }] })
    const after = worker.server.get('/')
    await settle()
    held[round]?.sink.complete(page(), Buffer.from(`render ${round}`))
    for (const { text } of await Promise.all(answers.splice(0))) assert.equal(text, `render ${round}`)
    answers.push(after)
    await settle()
  }
  held.at(-1)?.sink.complete(page(), Buffer.from('the last'))
  assert.equal((await answers[0])?.text, 'the last')
  await instance.settled()
  assert.equal((await worker.server.get('/')).headers['cache-status'], 'svc-isr; hit; ttl=60')
})

test('a page whose client leaves while it waits for a host is aborted, and the next client that waits for it requests it', async (t) => {
  const worker = await new IsrInstance().worker(t, [shop])
  const { renderer } = worker.server
  await worker.server.get('/items/first')
  renderer.isUp = false
  const held = holdRenders(worker)
  const gone = new AbortController()
  const first = worker.server.get('/', { signal: gone.signal })
  const second = worker.server.get('/')
  await waitFor('the first render', () => held.length === 1)
  gone.abort()
  assert.ok((await first).aborted)
  await waitFor('the second render', () => held.length === 2)
  assert.ok(renderer.aborted.includes(held[0]?.request.requestId ?? ''))
  held[1]?.sink.complete(page(), Buffer.from('rendered'))
  assert.equal((await second).text, 'rendered')
})
