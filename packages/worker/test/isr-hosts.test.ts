import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CannedRender } from './canned-renderer.ts'
import { facts, IsrInstance, page } from './isr-instance.ts'
import { shop, type TestSite } from './pipeline-server.ts'

// The site that takes hosts which nothing claims: whoever asks by address, and every scanner.
const site: TestSite = { ...shop, hostnames: ['shop.test', 'www.shop.test'] }

test('requests under made-up hosts do not keep a page that reads its host out of the store', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [site])
  server.renderer.answer = ({ request, sink }) => sink.complete(page(facts(['host'])), Buffer.from(new URL(request.url).host))
  const get = async (host: string) => {
    const answer = await server.get('/', { host })
    await instance.settled()
    assert.equal(answer.text, host)
    return answer.headers['cache-status']
  }
  assert.equal(await get('evil-1.test'), 'svc-isr; fwd=bypass; detail=host')
  assert.equal(await get('shop.test'), 'svc-isr; fwd=uri-miss; stored')
  assert.equal(await get('evil-2.test'), 'svc-isr; fwd=bypass; detail=host')
  assert.match(String(await get('shop.test')), /^svc-isr; hit/)
})

test('a response to an invented host leaves waiters under a name of the site their turn', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [site])
  const begun = Promise.withResolvers<CannedRender>()
  const answer = ({ request, sink }: CannedRender) => sink.complete(page(facts(['host'])), Buffer.from(new URL(request.url).host))
  server.renderer.answer = begun.resolve
  const foreign = server.get('/', { host: 'evil.test' })
  const render = await begun.promise
  server.renderer.answer = answer
  const hosts = ['shop.test', 'evil.test', 'shop.test', 'www.shop.test']
  const waiting = hosts.map((host) => server.get('/', { host }))
  answer(render)
  assert.equal((await foreign).text, 'evil.test')
  const answers = await Promise.all(waiting)
  assert.deepEqual(
    answers.map(({ text }) => text),
    hosts,
  )
  await instance.settled()
  const again = await server.get('/', { host: 'shop.test' })
  assert.equal(again.headers['cache-status'], 'svc-isr; hit; ttl=60')
})
