import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, tempSite, waitFor } from '@svc/testkit'
import { shouldGrow } from '../src/host/site-pool.ts'
import { ThreadBudget } from '../src/host/thread-budget.ts'
import { HostProcess } from './host-process.ts'

const page = 'export default () => <p>fine</p>'
const hanging = 'export default () => new Promise(() => undefined)'

async function poolCounts(host: HostProcess) {
  const { pools } = await host.ping()
  return pools.map(({ site, threads, active, queued }) => ({ site, threads, active, queued }))
}

test('a pool grows by one thread at a time, when it has work that waits or is busy', () => {
  const counts = { threads: 1, starting: 0, active: 1, queued: 0 }
  const limits = { maxThreads: 4, concurrency: 16 }
  const grows = (change: Partial<typeof counts>, own = limits) => shouldGrow({ ...counts, ...change }, own)
  assert.equal(grows({}), false)
  assert.equal(grows({ threads: 0, active: 0 }), false)
  assert.equal(grows({ threads: 0, active: 0, queued: 1 }), true)
  assert.equal(grows({ active: 4 }), true)
  assert.equal(grows({ active: 7, threads: 2 }), false)
  assert.equal(grows({ active: 1 }, { ...limits, concurrency: 1 }), true)
  assert.equal(grows({ queued: 1 }), true)
  assert.equal(grows({ queued: 9, starting: 1 }), false)
  assert.equal(grows({ queued: 9, threads: 4 }), false)
})

test('a full budget closes the longest idle thread of another pool, and tells who waited when there is room', () => {
  const budget = new ThreadBudget(2)
  const calls: string[] = []
  const member = (name: string, threadCount: number, longestIdleMs: number | undefined) => ({
    threadCount,
    longestIdleMs,
    closeIdleThread() {
      calls.push(`close ${name}`)
      this.threadCount--
    },
    growIfNeeded: () => calls.push(`room ${name}`),
  })
  const [a, b, c] = [member('a', 1, 10), member('b', 1, 20), member('c', 0, undefined)]
  for (const one of [a, b, c]) budget.add(one)
  assert.equal(budget.mayStart(c), false)
  assert.deepEqual(calls, ['close b'])
  budget.changed()
  assert.deepEqual(calls, ['close b', 'room c'])
  assert.equal(budget.mayStart(c), true)
  budget.changed()
  assert.deepEqual(calls, ['close b', 'room c'])
})

test('renders past concurrency wait, past queue_max they are refused, and room lets the next in', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page, 'app/hang/page.tsx': hanging })
  const host = await HostProcess.start(t, {
    render: { concurrency: 2, queue_max: 1, workers: 1, timeout_ms: 60_000 },
    sites: [{ id: 'a', root }],
  })
  await host.render('a', '/')
  const request = await host.request('a', '/hang')
  const open = () => host.worker.open('render', request, { timeoutMs: 60_000 })
  const running = [open(), open()]
  const waiting = host.render('a', '/')
  await assert.rejects(host.render('a', '/'), { code: 'RENDER_QUEUE_FULL', status: 503, retryable: true })
  assert.deepEqual(await poolCounts(host), [{ site: 'a', threads: 1, active: 2, queued: 1 }])
  running[0]?.abort()
  const late = await waiting
  assert.match(late.text, /fine/)
  assert.ok(late.body.queueMs > 0)
  running[1]?.abort()
})

test('a thread budget over all sites lets the longest idle one go', async (t) => {
  const sites = ['a', 'b', 'c'].map((id) => ({ id, root: tempSite(t, { 'app/page.tsx': page }) }))
  const host = await HostProcess.start(t, { render: { max_threads: 2 }, sites })
  await host.render('a', '/')
  await host.render('b', '/')
  assert.match((await host.render('c', '/')).text, /fine/)
  const threads = () => host.ping().then(({ pools }) => pools.map((pool) => `${pool.site}${pool.threads}`).join(' '))
  assert.equal(await threads(), 'a0 b1 c1')
  assert.match((await host.render('a', '/')).text, /fine/)
  assert.equal(await threads(), 'a1 b0 c1')
})

test('an idle pool is closed, and starts again with the next request', async (t) => {
  const host = await HostProcess.start(t, {
    render: { idle_secs: 1 },
    sites: [{ id: 'a', root: tempSite(t, { 'app/page.tsx': page }) }],
  })
  await host.render('a', '/')
  await waitFor('the idle thread to end', async () => (await host.ping()).pools[0]?.threads === 0, PROCESS_WAIT_MS)
  assert.match((await host.render('a', '/')).text, /fine/)
})

test('many requests at once are spread over more threads', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page, 'app/hang/page.tsx': hanging })
  const host = await HostProcess.start(t, { render: { workers: 2, timeout_ms: 60_000 }, sites: [{ id: 'a', root }] })
  await host.render('a', '/')
  const request = await host.request('a', '/hang')
  const calls = Array.from({ length: 6 }, () => host.worker.open('render', request, { timeoutMs: 60_000 }))
  await waitFor('a second thread', async () => (await host.ping()).pools[0]?.threads === 2, PROCESS_WAIT_MS)
  assert.match((await host.render('a', '/')).text, /fine/)
  for (const call of calls) call.abort()
})

test('isolates are listed at once while code of one never ends: its memory is unknown then', async (t) => {
  const sites = [
    { id: 'loop', root: tempSite(t, { 'app/page.tsx': 'export default () => { for (;;); }' }) },
    { id: 'calm', root: tempSite(t, { 'app/page.tsx': 'export default () => <p>fine</p>' }) },
  ]
  const host = await HostProcess.start(t, { sites, render: { timeout_ms: 60_000 } })
  assert.deepEqual(await host.isolates(), [])
  await host.render('calm', '/')
  const call = host.worker.open('render', await host.request('loop', '/'), { timeoutMs: 60_000 })
  call.reply.catch(() => undefined)
  const find = async (site: string) => (await host.isolates(site)).at(0)
  await waitFor(
    'the loop',
    async () => (await find('loop'))?.state === 'busy' && (await find('loop'))?.heapBytes === undefined,
    PROCESS_WAIT_MS,
  )
  const listed = await host.isolates()
  const [loop, calm] = ['loop', 'calm'].map((id) => listed.find(({ site }) => site === id))
  assert.deepEqual([loop?.state, loop?.heapBytes, loop?.requests], ['busy', undefined, 1])
  assert.deepEqual([calm?.state, calm?.requests], ['idle', 1])
  assert.ok((calm?.heapBytes ?? 0) > 100_000 && (calm?.startedAt ?? 0) > 0)
  assert.notEqual(loop?.thread, calm?.thread)
  call.abort()
  await waitFor('the end of the isolate', async () => (await find('loop'))?.state === 'starting', PROCESS_WAIT_MS)
  assert.deepEqual([(await find('loop'))?.startedAt, (await find('loop'))?.requests], [undefined, 0])
})
