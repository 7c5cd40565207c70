import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { PageQueue, type SitePage } from '../src/isr/page-queue.ts'
import { facts, holdRenders, IsrInstance, page, settle } from './isr-instance.ts'
import { shop } from './pipeline-server.ts'

const pageOf = (path: string, more: Partial<SitePage> = {}): SitePage => ({ site: 'shop', path, query: '', ...more })

async function queueOf(t: TestContext) {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, [shop])
  const queue = new PageQueue({
    generation: () => worker.server.generation,
    cache: () => worker.isr,
    onProblem: (error) => instance.problems.push(error),
  })
  return { instance, worker, queue, held: holdRenders(worker) }
}

test('queued pages are rendered four at a time, each once, and stored', async (t) => {
  const { instance, queue, held } = await queueOf(t)
  const pages = Array.from({ length: 6 }, (_, index) => pageOf(`/items/${index}`))
  assert.equal(queue.add([...pages, pageOf('/items/0')]), 7)
  await settle()
  assert.deepEqual(
    held.map(({ request }) => new URL(request.url).pathname),
    ['/items/0', '/items/1', '/items/2', '/items/3'],
  )
  for (let next = 0; next < 6; next++) {
    held[next]?.sink.complete(page(facts([], 60)), Buffer.from('rendered'))
    await settle()
  }
  assert.equal(held.length, 6)
  assert.equal(instance.store.size().entries, 6)
  queue.add(pages)
  await settle()
  assert.equal(held.length, 6, 'fresh pages are left alone')
  await instance.purge({ mode: 'stale' })
  queue.add([pageOf('/items/3')])
  await settle()
  assert.equal(held.length, 7)
  assert.deepEqual(instance.problems, [])
})

test('a page is rendered with its query and for its host; paths without a route and unknown sites are left out', async (t) => {
  const { instance, queue, held } = await queueOf(t)
  queue.add([pageOf('/nothing/here'), pageOf('/', { site: 'gone' }), pageOf('/', { query: 'q=1', origin: 'https://shop.test' })])
  await settle()
  assert.deepEqual(
    held.map(({ request }) => [request.url, request.headers, request.remoteAddress]),
    [['https://shop.test/?q=1', [['host', 'shop.test']], '']],
  )
  assert.deepEqual(instance.problems, [])
})

test('a failed render is reported and the next page follows; after a stop nothing begins', async (t) => {
  const { instance, queue, held } = await queueOf(t)
  const pages = Array.from({ length: 6 }, (_, index) => pageOf(`/items/${index}`))
  queue.add(pages)
  await settle()
  held[0]?.sink.fail(new Error('no memory'))
  await settle()
  assert.deepEqual([held.length, instance.problems.map(({ message }) => message)], [5, ['no memory']])
  queue.stop()
  for (const { sink } of held) sink.complete(page(facts([], 60)), Buffer.from('rendered'))
  await settle()
  assert.equal(held.length, 5)
  assert.equal(queue.add(pages), 0)
})

test('a full queue refuses further pages', async (t) => {
  const { queue } = await queueOf(t)
  const pages = Array.from({ length: 10_010 }, (_, index) => pageOf(`/items/${index}`))
  assert.equal(queue.add(pages), 10_000)
  queue.stop()
})
