import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { EntryStore } from '@svc/cache'
import { CacheMetrics, MetricSet } from '@svc/telemetry'
import { ManualClock, tempDir } from '@svc/testkit'
import { IsrCache } from '../src/isr/isr-cache.ts'
import { InstanceLeases, page, settle } from './isr-instance.ts'
import { PipelineServer, shop, type TestSite } from './pipeline-server.ts'

const other: TestSite = { id: 'other', hostnames: ['other.test'], files: { ...shop.files, 'app/[...path]/page.tsx': '' } }
const MAX_ENTRIES = 100

/** A worker with the real store, which holds so few entries. */
async function smallWorker(t: TestContext) {
  const clock = new ManualClock(1_000_000)
  const store = await EntryStore.open({ cacheDir: tempDir(t), maxEntries: MAX_ENTRIES, maxBytes: 64 << 20, graceMs: 0, clock })
  t.after(() => store.close())
  const server = await PipelineServer.start(t, [shop, other], '[cache.l0]\nenabled = false\n')
  const leases = new InstanceLeases()
  server.isr = new IsrCache({
    store,
    ledger: server.ledger,
    leases: leases.desk(),
    renderer: server.renderer,
    metrics: new CacheMetrics(new MetricSet()),
    clock,
    onProblem: (error) => assert.fail(error),
  })
  server.renderer.answer = ({ sink }) => sink.complete(page(), Buffer.from('a page'))
  const get = async (url: string): Promise<string> => {
    const { host, pathname } = new URL(url)
    const { headers } = await server.get(pathname, { host })
    do await settle()
    while (leases.held > 0)
    return String(headers['cache-status'])
  }
  const newcomers = (label: string) => store.room.usages().find((usage) => usage.label === label)?.newEntries ?? 0
  return { store, clock, get, newcomers, server }
}

const STORED = 'svc-isr; fwd=uri-miss; stored'
const HIT = /^svc-isr; hit/

test('a page of a dynamic route is stored at its first request, and is a newcomer until the second', async (t) => {
  const { clock, get, newcomers } = await smallWorker(t)
  assert.equal(await get('http://shop.test/items/1'), STORED)
  assert.equal(await get('http://shop.test/'), STORED)
  assert.equal(newcomers('shop'), 1, 'not that of a route without parameters')
  assert.match(await get('http://shop.test/items/1'), HIT)
  clock.advance(100)
  assert.equal(newcomers('shop'), 0)
})

test('a page that is requested again while it is missing is not a newcomer', async (t) => {
  const { get, newcomers, store } = await smallWorker(t)
  assert.equal(await get('http://shop.test/items/1'), STORED)
  const scopes = [{ kind: 'everything' }] as const
  await store.purge({ number: 1, layers: ['isr'], scopes, mode: 'drop' })
  await store.room.evict()
  assert.equal(newcomers('shop'), 0)
  assert.equal(await get('http://shop.test/items/1'), 'svc-isr; fwd=uri-miss; stored')
  assert.equal(newcomers('shop'), 0)
})

test('paths that a stranger makes up push out neither the pages of their site nor those of others', async (t) => {
  const { clock, get, server } = await smallWorker(t)
  const hot = [...Array.from({ length: 20 }, (_, index) => `http://other.test/items/${index}`), 'http://shop.test/']
  const known = hot.concat('http://shop.test/items/7')
  for (const url of known) {
    await get(url)
    assert.match(await get(url), HIT)
  }
  clock.advance(100)
  for (let path = 0; path < 3 * MAX_ENTRIES; path++) await get(`http://other.test/made/up/${path}`)
  const rendered = server.renderer.requests.length
  for (const url of known) assert.match(await get(url), HIT, url)
  assert.equal(server.renderer.requests.length, rendered)
  assert.match(await get(`http://other.test/made/up/${3 * MAX_ENTRIES - 1}`), HIT, 'stored at its first request all the same')
})
