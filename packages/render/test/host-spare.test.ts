import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { MessagePort } from 'node:worker_threads'
import { PROCESS_WAIT_MS, tempDir, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { SpareThread } from '../src/host/spare-thread.ts'
import type { StartedThread } from '../src/host/started-thread.ts'
import { ThreadBudget } from '../src/host/thread-budget.ts'
import { guestDir } from '../src/thread/guest-files.ts'
import { HostProcess } from './host-process.ts'

const program = new URL('../src/thread/main.ts', import.meta.url).href
const base = { guestDir: guestDir(), timeoutMs: 1_000, memoryLimitMb: 32 }

interface Options {
  readonly program?: string
  readonly max?: number
}

function keeper(t: TestContext, options: Options = {}) {
  const budget = new ThreadBudget(options.max ?? 4)
  const failures: Error[] = []
  const threads = new SpareThread({
    program: options.program ?? program,
    budget,
    isQuiet: () => true,
    onFailed: (error) => failures.push(error),
    onCloseFailed: (error) => assert.fail(String(error)),
  })
  t.after(() => threads.close())
  return { threads, budget, failures }
}

/** Resolves with the link of a thread when it runs. */
function linkOf(t: TestContext, thread: StartedThread): Promise<MessagePort> {
  const { promise, resolve, reject } = Promise.withResolvers<MessagePort>()
  thread.own({ linked: resolve, ended: reject })
  t.after(() => thread.close())
  // A thread without a task does not keep the process of the test alive.
  const limit = setTimeout(() => reject(new Error('the thread did not start')), PROCESS_WAIT_MS)
  return promise.finally(() => clearTimeout(limit))
}

test('a spare that does not start is reported, and the next thread fails with the reason', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'broken.mjs': 'throw new Error("no thread today")' })
  const { threads, failures } = keeper(t, { program: `file://${dir}/broken.mjs` })
  threads.useBase(base)
  threads.want()
  await waitFor('the failure', () => failures.length > 0, PROCESS_WAIT_MS)
  assert.equal(threads.isReady, false)
  await assert.rejects(linkOf(t, threads.take(base)), /no thread today/)
})

test('no spare is started before one is wanted, where the budget has no room, or after the end', (t) => {
  const { threads, budget } = keeper(t, { max: 1 })
  const member = { threadCount: 1, longestIdleMs: undefined, closeIdleThread: () => undefined, growIfNeeded: () => undefined }
  threads.useBase(base)
  assert.equal(budget.hasRoomForSpare, true)
  budget.add(member)
  threads.want()
  assert.equal(budget.isOverfull, false)
  assert.equal(budget.hasRoomForSpare, false)
  budget.remove(member)
  threads.close()
  threads.refillSoon()
  threads.useBase({ ...base, timeoutMs: 2 })
  assert.equal(budget.hasRoomForSpare, true)
})

test('the spare goes to the first who asks, is replaced, and gives way to other settings and a smaller budget', async (t) => {
  const { threads, budget } = keeper(t)
  threads.useBase(base)
  threads.want()
  await waitFor('the spare', () => threads.isReady, PROCESS_WAIT_MS)
  const first = threads.take(base)
  assert.equal(first.isLinked, true)
  assert.equal(threads.isReady, false)
  await linkOf(t, first)
  await waitFor('its successor', () => threads.isReady, PROCESS_WAIT_MS)
  const other = { ...base, memoryLimitMb: 48 }
  threads.useBase(other)
  assert.equal(threads.isReady, false)
  await waitFor('a spare with the new settings', () => threads.isReady, PROCESS_WAIT_MS)
  // A pool of the generation before may still need a thread.
  const late = threads.take(base)
  assert.equal(late.isLinked, false)
  assert.deepEqual([late.base, threads.isReady], [base, false])
  await linkOf(t, late)
  await waitFor('the spare again', () => threads.isReady, PROCESS_WAIT_MS)
  budget.setMax(0)
  threads.refillSoon()
  assert.equal(threads.isReady, false)
})

test('a spare thread that gets its site over its link renders, even before it is ready', async (t) => {
  const page = 'export default () => <p>fine</p>'
  const sites = ['a', 'b'].map((id) => ({ id, root: tempSite(t, { 'app/page.tsx': page }) }))
  const host = await HostProcess.start(t, { sites })
  const hasSpare = async () => (await host.ping()).hasSpareThread === true
  await waitFor('the spare', hasSpare, PROCESS_WAIT_MS)
  assert.match((await host.render('a', '/')).text, /fine/)
  await host.serve(2, { render: { memory_limit_mb: 48 }, sites })
  assert.match((await host.render('b', '/')).text, /fine/)
  await waitFor('a spare of the new generation', hasSpare, PROCESS_WAIT_MS)
  const spared = once(host.child, 'exit')
  host.master.close()
  assert.deepEqual(await spared, [0, null])
})
