import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { PipelineServer, shop } from './pipeline-server.ts'
import { type ClientBehaviour, RecordedExchange } from './recorded-exchange.ts'
import { StaticSite } from './static-site.ts'

/** A clock by which every file of the test is old enough. */
const later = { now: () => Date.now() + 60_000 }

/** The check that comes with a whole file, or undefined when the answer is not one that may be kept. */
async function checkOf(site: StaticSite, path: string, behaviour: ClientBehaviour = {}): Promise<(() => boolean) | undefined> {
  let check: (() => boolean) | undefined
  const exchange = new RecordedExchange(behaviour)
  site.files.serve(exchange, path, {
    offer(isCurrent) {
      check = isCurrent
      return false
    },
    unsent: () => assert.fail('it was not wanted'),
  })
  await exchange.response()
  return check
}

test('a file that has only just changed may change again without a trace and is not kept', async (t) => {
  const startedAt = Date.now()
  const site = new StaticSite(t, { 'a.txt': 'one' }, { now: () => startedAt + 900 })
  assert.equal(await checkOf(site, '/a.txt'), undefined)
})

test('a kept file is current until it, or what is sent in its place, changes', async (t) => {
  const site = new StaticSite(t, { 'a.css': 'a{}', 'b.css': 'b{}', 'b.css.br': 'b', 'gone.txt': 'x' }, later)
  const compressing = { headers: { 'accept-encoding': 'br' } }
  const plain = await checkOf(site, '/a.css', compressing)
  const coded = await checkOf(site, '/b.css', compressing)
  const gone = await checkOf(site, '/gone.txt')
  assert.ok(plain?.() && coded?.() && gone?.())
  site.write('a.css.br', 'a')
  assert.equal(plain?.(), false, 'there is a compressed form now')
  site.write('b.css.br', 'c')
  assert.equal(coded?.(), false)
  rmSync(site.pathOf('gone.txt'))
  assert.equal(gone?.(), false)
})

test('only whole files are kept, those that the client has already too', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'one' }, later)
  assert.ok(await checkOf(site, '/a.txt'))
  assert.equal(await checkOf(site, '/a.txt', { headers: { range: 'bytes=0-1' } }), undefined)
  assert.ok(await checkOf(site, '/a.txt', { headers: { 'if-none-match': '*' } }))
  assert.equal(await checkOf(site, '/a.txt', { headers: { 'if-match': '"other"' } }), undefined)
})

test('files are answered from L0, in parts too, and an edited one shows within a second', async (t) => {
  const large = 'x'.repeat(200_000)
  const server = await PipelineServer.start(t, [{ ...shop, files: { 'public/a.txt': '0123456789', 'public/large.js': large } }])
  const get = (url: string, headers: Record<string, string> = {}) => server.get(url, { headers })
  const isHit = async (url: string, headers: Record<string, string> = {}) =>
    (await get(url, headers)).headers['cache-status'] === 'svc-l0; hit'
  const br = { 'accept-encoding': 'br' }
  for (const [url, headers] of [['/a.txt'], ['/large.js'], ['/large.js', br]] as const) {
    await waitFor(`${url} to be answered from L0`, () => isHit(url, headers))
  }
  assert.equal((await get('/large.js')).text, large)
  assert.equal((await get('/large.js', br)).headers['content-encoding'], 'br')

  const part = await get('/a.txt', { ...br, range: 'bytes=2-4' })
  assert.deepEqual([part.status, part.text, part.headers['content-range']], [206, '234', 'bytes 2-4/10'])
  assert.equal(part.headers['cache-status'], 'svc-l0; hit')
  const end = await get('/a.txt', { range: 'bytes=-3' })
  assert.deepEqual([end.text, end.headers['content-length']], ['789', '3'])
  const parts = await get('/large.js', { range: 'bytes=0-0,199000-199001' })
  assert.deepEqual([parts.status, parts.headers['cache-status']], [206, 'svc-l0; fwd=uri-miss'])
  assert.equal((await get('/a.txt', { range: 'bytes=10-' })).status, 416)
  const same = await get('/a.txt', { range: 'bytes=0-0', 'if-none-match': part.headers['etag'] ?? '' })
  assert.deepEqual([same.status, same.headers['cache-status']], [304, 'svc-l0; hit'])

  rmSync(join(server.dir, 'shop/public/a.txt'))
  server.clock.advance(1_000)
  assert.notEqual((await get('/a.txt')).text, '0123456789')
})

const took = { queueMs: 0, renderMs: 0 }

/** A site with middleware beside one without, whose file is younger: once that is old enough to be kept, the other's is too. */
async function guardedServer(t: TestContext): Promise<{ server: PipelineServer; settled: () => Promise<unknown> }> {
  const guarded = { ...shop, files: { 'public/a.txt': 'secret', 'middleware.ts': '' } }
  const open = { id: 'open', hostnames: ['open.test'], files: { 'public/a.txt': 'open' } }
  const server = await PipelineServer.start(t, [guarded, open])
  const isOpenHit = async () => (await server.get('/a.txt', { host: 'open.test' })).headers['cache-status'] === 'svc-l0; hit'
  return { server, settled: () => waitFor('the open file to be answered from L0', isOpenHit) }
}

function middlewareOf(server: PipelineServer, reads: string[]): { allow: boolean; runs: number } {
  const middleware = { allow: true, runs: 0 }
  server.renderer.answer = ({ sink }) => {
    middleware.runs++
    const cache = { reads, tags: [], revalidate: undefined }
    if (middleware.allow) sink.complete({ middleware: { action: 'next' }, cache, ...took }, undefined)
    else sink.complete({ head: { status: 403, headers: [] }, ...took }, Buffer.from('no'))
  }
  return middleware
}

test('a file behind middleware that reads the request is never kept', async (t) => {
  const { server, settled } = await guardedServer(t)
  const middleware = middlewareOf(server, ['headers'])
  await settled()
  for (let i = 0; i < 3; i++) assert.equal((await server.get('/a.txt')).text, 'secret')
  assert.equal(server.l0.stats().l0Entries, 1)
  middleware.allow = false
  assert.equal((await server.get('/a.txt')).status, 403)
})

test('a file is never kept where the matcher of the middleware looks at a field', async (t) => {
  const { server, settled } = await guardedServer(t)
  server.renderer.matcher = [{ source: '/a.txt', has: [{ type: 'header', key: 'x-who' }] }]
  const middleware = middlewareOf(server, [])
  middleware.allow = false
  await settled()
  for (let i = 0; i < 3; i++) assert.equal((await server.get('/a.txt')).text, 'secret')
  assert.equal(middleware.runs, 0)
  assert.equal((await server.get('/a.txt', { headers: { 'x-who': 'me' } })).status, 403)
})

test('a file behind middleware that reads nothing but path and method is kept', async (t) => {
  const { server, settled } = await guardedServer(t)
  middlewareOf(server, [])
  await settled()
  for (let i = 0; i < 2; i++) assert.equal((await server.get('/a.txt')).text, 'secret')
  assert.equal((await server.get('/a.txt')).headers['cache-status'], 'svc-l0; hit')
})
