import assert from 'node:assert/strict'
import { test } from 'node:test'
import { facts, IsrInstance, type IsrWorker, page } from './isr-instance.ts'
import type { TestSite } from './pipeline-server.ts'

const files = { 'app/page.tsx': '', 'app/slow/page.tsx': '', 'app/items/[id]/page.tsx': '' }
const siteOf = (id: string, label: string): TestSite => ({ id, hostnames: [`${id}.test`], files, label })
const before = [siteOf('a', 'x'), siteOf('b', 'y')]
/** The label of the first site is the other's from now on. */
const after = [siteOf('a', 'z'), siteOf('b', 'x')]

/** Answers each render with the site that it is of. */
function answerSites({ server }: IsrWorker, ttlSeconds: number | false = false): void {
  server.renderer.answer = ({ request, sink }) => sink.complete(page(facts([], ttlSeconds)), Buffer.from(request.site))
}

/** Performs the master's part of a reload. */
async function reload(instance: IsrInstance, { server }: IsrWorker): Promise<void> {
  await server.reload(after, '[cache.l0]\nenabled = false\n')
  await instance.purge({ scopes: [{ kind: 'labels', labels: ['x', 'y'] }] })
}

const get = ({ server }: IsrWorker, site: string, path: string) => server.get(path, { host: `${site}.test` })

test('a request that began before a reload makes no page for the site that has its label now, and gets none of it', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, before)
  const { renderer } = worker.server
  // It reaches its page at the end.
  const described = Promise.withResolvers<void>()
  renderer.beforeDescribe = () => described.promise
  const late = [get(worker, 'a', '/'), get(worker, 'a', '/slow')]
  while (renderer.describes === 0) await new Promise((resolve) => setImmediate(resolve))
  renderer.beforeDescribe = async () => undefined
  await reload(instance, worker)
  answerSites(worker)
  assert.equal((await get(worker, 'b', '/')).text, 'b')
  await instance.settled()
  described.resolve()
  for (const answer of await Promise.all(late)) {
    assert.equal(answer.text, 'a')
    assert.equal(answer.headers['cache-status'], 'svc-isr; fwd=bypass')
  }
  assert.equal((await get(worker, 'b', '/slow')).text, 'b')
})

test('one that waited for a lease across a reload renders for itself', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, before)
  answerSites(worker)
  await get(worker, 'a', '/slow')
  await instance.settled()
  const gate = Promise.withResolvers<void>()
  instance.leases.gate = gate.promise
  const late = get(worker, 'a', '/')
  while (instance.leases.asked < 2) await new Promise((resolve) => setImmediate(resolve))
  await reload(instance, worker)
  gate.resolve()
  const answer = await late
  assert.equal(answer.text, 'a')
  assert.equal(answer.headers['cache-status'], 'svc-isr; fwd=bypass')
  assert.equal((await get(worker, 'b', '/')).text, 'b')
})

test('a page is not revalidated in the background when a reload came before its render', async (t) => {
  const instance = new IsrInstance()
  const worker = await instance.worker(t, before)
  answerSites(worker, 10)
  await get(worker, 'a', '/')
  await instance.settled()
  instance.clock.advance(12_000)
  const gate = Promise.withResolvers<void>()
  instance.leases.gate = gate.promise
  assert.equal((await get(worker, 'a', '/')).text, 'a')
  await reload(instance, worker)
  const { requests } = worker.server.renderer
  const { length } = requests
  gate.resolve()
  await instance.settled()
  assert.equal(requests.length, length)
  assert.equal((await get(worker, 'b', '/')).text, 'b')
})
