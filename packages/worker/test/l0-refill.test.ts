import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { fetchHttp, type HttpAnswer, waitFor } from '@svc/testkit'
import { startUws } from '../../engine/test/start-uws.ts'
import { facts, IsrInstance, page } from './isr-instance.ts'
import { PipelineServer, shop, type TestSite } from './pipeline-server.ts'

const HIT = 'svc-l0; hit'
const BR = { 'accept-encoding': 'br' }
const large = 'some text of a page, '.repeat(10_000)

type Headers = Readonly<Record<string, string>>
type Ask = (path: string, headers?: Headers, method?: string) => Promise<HttpAnswer>

/** Asks a pipeline through the engine of the product. */
async function listen(t: TestContext, server: PipelineServer): Promise<Ask> {
  const { port } = await startUws(t, server.handler, { ready: server.l0 })
  return (path, headers = {}, method = 'GET') =>
    fetchHttp(`http://127.0.0.1:${port}${path}`, { host: 'shop.test', headers, method })
}

const statusOf = ({ headers }: HttpAnswer) => headers['cache-status']

/** A site whose pages hold for a minute. Counts its renders. */
async function storedPages(t: TestContext, body: () => string) {
  const instance = new IsrInstance()
  const { server } = await instance.workerWithL0(t, [shop])
  server.renderer.answer = ({ sink }) => sink.complete(page(facts([], 60)), Buffer.from(body()))
  const ask = await listen(t, server)
  const first = await ask('/')
  return { instance, server, ask, etag: String(first.headers['etag']) }
}

const repeats = { identity: {}, br: BR } as const

for (const [coding, fields] of Object.entries(repeats)) {
  test(`a page whose clients all have it comes back into L0: ${coding}`, async (t) => {
    const { instance, server, ask, etag } = await storedPages(t, () => large)
    const conditional = { ...fields, 'if-none-match': etag }
    const answersFromL0 = async () => {
      const answer = await ask('/', conditional)
      assert.equal(answer.status, 304)
      return statusOf(answer) === HIT
    }
    await waitFor('L0 to answer at first', answersFromL0)

    server.l0.clear()
    await waitFor('L0 to answer when it had been evicted', answersFromL0)
    server.clock.advance(61_000)
    assert.notEqual(statusOf(await ask('/', conditional)), HIT, 'it is stale')
    await instance.settled()
    await waitFor('L0 to answer when it had expired', answersFromL0)

    const whole = await ask('/', fields)
    assert.deepEqual([whole.status, statusOf(whole)], [200, HIT])
    assert.equal(whole.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(whole.headers['content-encoding'], coding === 'br' ? 'br' : undefined)
    assert.equal(coding === 'br' ? brotliDecompressSync(whole.body).toString() : whole.text, large)
    assert.equal(server.renderer.requests.length, 2)
    await waitFor('all fills to end', () => server.ledger.kept === 0)
  })
}

test('the 304 that fills L0 is the second within the window, and the answers stay what they were', async (t) => {
  const { server, ask, etag } = await storedPages(t, () => 'small')
  server.clock.advance(11_000)
  const conditional = { 'if-none-match': etag }
  const made = [await ask('/', conditional), await ask('/', conditional)]
  assert.deepEqual(
    made.map((answer) => [answer.status, statusOf(answer)]),
    [
      [304, 'svc-isr; hit; ttl=49, svc-l0; fwd=uri-miss'],
      [304, 'svc-isr; hit; ttl=49, svc-l0; fwd=uri-miss'],
    ],
  )
  const hit = await ask('/', conditional)
  assert.deepEqual([hit.status, statusOf(hit), hit.headers['etag'], hit.headers['age']], [304, HIT, etag, '11'])
  assert.equal(server.renderer.requests.length, 1)
})

test('after a purge no request gets the old page, conditional or not', async (t) => {
  let text = 'old'
  const { instance, ask, etag } = await storedPages(t, () => text)
  const conditional = { 'if-none-match': etag }
  for (let i = 0; i < 3; i++) await ask('/', conditional)
  assert.equal(statusOf(await ask('/', conditional)), HIT)
  text = 'new'
  await instance.purge({ scopes: [{ kind: 'tags', tags: ['route:shop:/'] }] })
  const changed = await ask('/', conditional)
  assert.deepEqual([changed.status, changed.text], [200, 'new'])
  const renewed = { 'if-none-match': String(changed.headers['etag']) }
  for (let i = 0; i < 2; i++) assert.equal((await ask('/', renewed)).status, 304)
  assert.deepEqual([(await ask('/', renewed)).status, statusOf(await ask('/', renewed))], [304, HIT])
  const whole = await ask('/', conditional)
  assert.deepEqual([whole.text, statusOf(whole)], ['new', HIT])
})

test('a page that gets only HEAD requests enters L0', async (t) => {
  const { server, ask } = await storedPages(t, () => large)
  for (const fields of Object.values(repeats)) {
    const answersFromL0 = async () => statusOf(await ask('/', fields, 'HEAD')) === HIT
    await waitFor('L0 to answer', answersFromL0)
    const whole = await ask('/', fields)
    assert.equal(statusOf(whole), HIT)
    assert.equal((await ask('/', fields, 'HEAD')).headers['content-length'], String(whole.body.byteLength))
  }
  assert.equal(server.l0.stats().l0Entries, 2)
})

test('a response that middleware passed for HEAD does not enter L0, since it may treat GET differently', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.workerWithL0(t, [{ ...shop, files: { ...shop.files, 'middleware.ts': '' } }])
  server.renderer.answer = ({ request, sink }) => {
    if (request.kind !== 'middleware') sink.complete(page(facts([], 60)), Buffer.from('page'))
    else if (request.method === 'HEAD')
      sink.complete({ middleware: { action: 'next' }, cache: facts(), queueMs: 0, renderMs: 0 }, undefined)
    else sink.complete({ head: { status: 403, headers: [] }, queueMs: 0, renderMs: 0 }, Buffer.from('no'))
  }
  const ask = await listen(t, server)
  for (let i = 0; i < 4; i++) assert.equal((await ask('/', {}, 'HEAD')).status, 200)
  assert.equal(server.l0.stats().l0Entries, 0)
  assert.equal((await ask('/')).status, 403)
})

const files: TestSite = {
  ...shop,
  files: { 'public/small.css': 'a{}'.repeat(1_000), 'public/large.js': large, 'public/empty.txt': '' },
}

for (const how of ['conditional', 'HEAD'] as const) {
  test(`files come into L0 when all requests are ${how}`, async (t) => {
    const server = await PipelineServer.start(t, [files])
    const ask = await listen(t, server)
    for (const name of ['/small.css', '/large.js', '/empty.txt']) {
      for (const fields of Object.values(repeats)) {
        const isHit = async () => {
          const answer = how === 'HEAD' ? await ask(name, fields, 'HEAD') : await ask(name, { ...fields, 'if-none-match': '*' })
          assert.equal(answer.status, how === 'HEAD' ? 200 : 304)
          return statusOf(answer) === HIT
        }
        await waitFor(`${name} to be answered from L0`, isHit)
        const whole = await ask(name, fields)
        assert.equal(statusOf(whole), HIT)
        const text = whole.headers['content-encoding'] === 'br' ? brotliDecompressSync(whole.body).toString() : whole.text
        assert.equal(text, files.files[`public${name}`])
      }
    }
    await waitFor('all fills to end', () => server.ledger.kept === 0)
  })
}
