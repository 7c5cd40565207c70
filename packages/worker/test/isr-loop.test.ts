import assert from 'node:assert/strict'
import { test } from 'node:test'
import { responseKey } from '@svc/cache'
import { facts, IsrInstance, page } from './isr-instance.ts'
import { LOOP_TOKEN, shop } from './pipeline-server.ts'

const config = '[scaling]\ninstance_id = "web-1"\n'
const again = { headers: { 'cdn-loop': `svc;web-1;t=${LOOP_TOKEN}` } }
const keyOf = (path: string) => responseKey('shop', path, { query: false, host: false }, '', '')

test('a page that asks for its own URL does not wait for itself', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop], config)
  const { renderer } = server
  renderer.answer = ({ request, sink }) => {
    // The second one is that of the page itself, and the third what another client makes of it meanwhile.
    const inner = renderer.requests.length === 1 ? server.get('/', again).then(({ text }) => text) : Promise.resolve('inner')
    inner.then((text) => sink.complete(page(), Buffer.from(`${request.kind} of ${text}`)), assert.fail)
  }
  const answer = await server.get('/')
  assert.equal(answer.text, 'page of page of inner')
  assert.equal(answer.headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
  await instance.settled()
  assert.equal((await server.get('/', again)).headers['cache-status'], 'svc-isr; hit; ttl=60')
  assert.equal(renderer.requests.length, 2)
})

test('two pages that ask for each other, in one worker or in two, do not wait for each other', async (t) => {
  for (const count of [1, 2]) {
    const instance = new IsrInstance()
    const servers = [(await instance.worker(t, [shop], config)).server]
    if (count === 2) servers.push((await instance.worker(t, [shop], config)).server)
    const began = Promise.withResolvers<void>()
    let renders = 0
    for (const [i, { renderer }] of servers.entries()) {
      const other = servers[servers.length - 1 - i] ?? assert.fail()
      renderer.answer = ({ request, sink }) => {
        const { pathname } = new URL(request.url)
        const isOuter = ++renders <= 2
        if (renders === 2) began.resolve()
        const next = pathname === '/' ? '/items/1' : '/'
        const inner = isOuter ? began.promise.then(() => other.get(next, again)) : Promise.resolve({ text: '' })
        inner.then(({ text }) => sink.complete(page(), Buffer.from(`${pathname} ${text}`)), assert.fail)
      }
    }
    const answers = await Promise.all([servers[0]?.get('/'), servers.at(-1)?.get('/items/1')])
    assert.deepEqual(
      answers.map((answer) => answer?.text),
      ['/ /items/1 ', '/items/1 / '],
    )
    await instance.settled()
  }
})

test('a request that loops back does not wait for a lease, and its result is stored for all', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop], config)
  const end = instance.leases.hold(keyOf('/items/1'))
  server.renderer.answer = ({ sink }) => sink.complete(page(facts([], 30)), Buffer.from('made'))
  const answer = await server.get('/items/1', again)
  assert.equal(answer.text, 'made')
  assert.equal(answer.headers['cache-status'], 'svc-isr; fwd=uri-miss; stored')
  assert.equal(instance.leases.asked, 0)
  end('failed')
  await instance.settled()
  assert.equal((await server.get('/items/1')).headers['cache-status'], 'svc-isr; hit; ttl=30')
})

test('a request that came through another instance, or only claims to have come through this one, waits as usual', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop], config)
  const { renderer } = server
  const held: (() => void)[] = []
  renderer.answer = ({ sink }) => held.push(() => sink.complete(page(), Buffer.from('once')))
  const others = ['svc;web-10, cdn', 'svc;web-1', 'svc;web-1;t=made-up', `svc;web-2;t=${LOOP_TOKEN}`]
  const answers = [server.get('/'), ...others.map((loop) => server.get('/', { headers: { 'cdn-loop': loop } }))]
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve))
  held[0]?.()
  for (const { text } of await Promise.all(answers)) assert.equal(text, 'once')
  assert.equal(renderer.requests.length, 1)
})
