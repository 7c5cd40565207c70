import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { dataKey, type Purge } from '@svc/cache'
import type { CallContext } from '@svc/core'
import { addDataCounts, MetricSet } from '@svc/telemetry'
import { MemoryStore } from '@svc/testkit'
import type { DataQuestion } from '../src/contract/data-methods.ts'
import { HostCaches, type OpenStore } from '../src/host/data/host-caches.ts'
import type { SendOrder } from '../src/host/data/purge-orders.ts'
import { DataClient } from '../src/thread/data/data-client.ts'
import { generationOf } from './host-process.ts'

const { cache } = generationOf(1, '', { sites: [] }).config
const pathPurge = (number: number, path: string): Purge => ({
  number,
  layers: ['isr'],
  scopes: [{ kind: 'tags', tags: [`route:a:${path}`] }],
  mode: 'drop',
})
const question = (path: string): DataQuestion => ({
  mode: 'read',
  parts: ['one'],
  tags: [],
  ttlMs: null,
  place: { path, pattern: path },
})

/** The store of an instance, as a process of it has it open. */
class InstanceStore extends MemoryStore implements OpenStore {
  refresh(): void {
    // A commit is visible at once.
  }
  readonly touched = new Set<string>()
  touch(key: string): void {
    this.touched.add(key)
  }
  async flushed(): Promise<void> {
    // Nor is anything ever waiting.
  }
  async close(): Promise<void> {
    // It ends with the test.
  }
}

/** The caches of a host and a thread of a site with the label "a". */
function startHost(
  t: TestContext,
  open: () => Promise<OpenStore>,
  sendPurge: SendOrder = async () => undefined,
  isAhead = () => false,
) {
  const caches = new HostCaches({
    counts: addDataCounts(new MetricSet()),
    open,
    sendPurge,
    relay: async () => assert.fail('no cache is shared'),
    onProblem: (error) => assert.ifError(error),
  })
  const { port1, port2 } = new MessageChannel()
  t.after(() => port1.close())
  const site = { id: 'a', label: 'a', timeoutMs: 60_000, swrMs: 0, isAhead }
  caches.services.serve(site, port1, async () => ({ modules: [], more: [] }))
  const handlers = { purgeModules: async () => ({ evicted: 0 }), modules: () => ({ modules: [] }), heapSnapshot: () => ({}) }
  const thread = new DataClient({ port: port2, handlers, onProblem: assert.ifError })
  const purge = async (one: Purge) => await caches.handlers.purge({ purge: one }, {} as CallContext)
  const settled = (number: number) => caches.handlers.purgeSettled({ number }, {} as CallContext)
  return { caches, thread, purge, settled }
}

/** Looks up the data of a page of this path, and abandons the fill of a miss. */
async function look(thread: DataClient, path: string): Promise<'hit' | 'fill' | 'pass'> {
  const found = await thread.read(question(path))
  if (found.kind === 'fill') thread.endFill(found.fill, 'lost')
  return found.kind
}

async function storeWithEntry(t: TestContext): Promise<InstanceStore> {
  const store = new InstanceStore()
  const host = startHost(t, async () => store)
  await host.caches.prepare(cache, { last: 0, unsettled: [] })
  const found = await host.thread.read(question('/p'))
  assert.ok(found.kind === 'fill')
  assert.ok(await host.thread.store(found.fill, { tags: [], ttlMs: null, body: Buffer.from('old') }))
  await host.purge(pathPurge(1, '/p'))
  host.settled(1)
  return store
}

test('a purge that comes while a host still opens the store does not make it forget the earlier ones', async (t) => {
  const store = await storeWithEntry(t)
  const opened = Promise.withResolvers<OpenStore>()
  const host = startHost(t, () => opened.promise)
  const prepared = host.caches.prepare(cache, { last: 1, unsettled: [] })
  const purged = host.purge(pathPurge(2, '/q'))
  opened.resolve(store)
  await Promise.all([prepared, purged])
  host.settled(2)
  assert.equal(await look(host.thread, '/r'), 'hit')
  assert.equal(await look(host.thread, '/q'), 'fill', 'purged by the new one')
  assert.equal(await look(host.thread, '/p'), 'fill', 'purged before it began')
  const third = startHost(t, async () => store)
  await third.caches.prepare(cache, { last: 2, unsettled: [] })
  for (const path of ['/p', '/q']) assert.equal(await look(third.thread, path), 'fill', path)
})

test('a purge that is settled while a host still opens the store is not unsettled for ever', async (t) => {
  const store = await storeWithEntry(t)
  const opened = Promise.withResolvers<OpenStore>()
  const host = startHost(t, () => opened.promise)
  const everything: Purge = { ...pathPurge(2, ''), scopes: [{ kind: 'everything' }], layers: ['proxy', 'isr'] }
  const prepared = host.caches.prepare(cache, { last: 2, unsettled: [everything] })
  host.settled(2)
  opened.resolve(store)
  await prepared
  assert.equal(await look(host.thread, '/r'), 'hit')
})

test('code that is not in service yet shares no data, and all of it once it is', async (t) => {
  const store = await storeWithEntry(t)
  let isAhead = true
  const host = startHost(
    t,
    async () => store,
    undefined,
    () => isAhead,
  )
  await host.caches.prepare(cache, { last: 1, unsettled: [] })
  for (const path of ['/p', '/r']) assert.equal(await look(host.thread, path), 'pass', path)
  isAhead = false
  assert.equal(await look(host.thread, '/r'), 'hit')
})

test('a host has something to do as long as a purge of its sites waits for another', async (t) => {
  const store = await storeWithEntry(t)
  const sent: PromiseWithResolvers<unknown>[] = []
  const host = startHost(
    t,
    async () => store,
    () => {
      const order = Promise.withResolvers<unknown>()
      sent.push(order)
      return order.promise
    },
  )
  await host.caches.prepare(cache, { last: 1, unsettled: [] })
  assert.equal(host.caches.hasOrders, false)
  const first = host.thread.purge(['one'], [])
  // A later response on the same connection belongs to a later request.
  await look(host.thread, '/r')
  const second = host.thread.purge(['two'], [])
  await look(host.thread, '/r')
  assert.deepEqual([sent.length, host.caches.hasOrders], [1, true])
  sent[0]?.resolve(undefined)
  await first
  assert.equal(host.caches.hasOrders, true)
  while (sent.length < 2) await new Promise((resolve) => setImmediate(resolve))
  sent[1]?.resolve(undefined)
  await second
  assert.equal(host.caches.hasOrders, false)
})

test('records of purged paths count as used as long as data of the site does', async (t) => {
  const store = await storeWithEntry(t)
  const host = startHost(t, async () => store)
  await host.caches.prepare(cache, { last: 1, unsettled: [] })
  store.touched.clear()
  assert.equal(await look(host.thread, '/r'), 'hit')
  assert.deepEqual(store.touched, new Set([dataKey('a', 'purged paths'), dataKey('a', 'one')]))
})
