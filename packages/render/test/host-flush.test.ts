// Runs alone: it starts render hosts.
import assert from 'node:assert/strict'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { PROCESS_WAIT_MS, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { HostProcess } from './host-process.ts'

/** Its page counts its renders in the state of a module; its handler keeps a stream open until it is told to end it. */
function countingSite(t: TestContext): string {
  return tempSite(t, {
    'app/page.tsx': 'import { state } from "../state"\nexport default () => <p>count {++state.count}</p>',
    'state.ts': 'export const state: { count: number; end?: () => void } = { count: 0 }',
    'app/open/route.ts': `import { state } from '../../state'
export const GET = () => new Response(new ReadableStream({ start(controller) {
  controller.enqueue(new TextEncoder().encode('begun '))
  state.end = () => { controller.enqueue(new TextEncoder().encode('count ' + state.count)); controller.close() }
} }))`,
    'app/end/route.ts': `import { state } from '../../state'
export const GET = () => { state.end?.(); return new Response(String(state.end !== undefined)) }`,
  })
}

const threadsOf = async (host: HostProcess, site: string) => (await host.ping()).pools.find((pool) => pool.site === site)

test('a flush of an unknown site is refused, and of one that was never used replaces nothing', async (t) => {
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root: countingSite(t) }] })
  await assert.rejects(host.flush('b'), { code: 'RENDER_UNKNOWN_SITE' })
  assert.equal(await host.flush('a'), 0)
  await host.describe('a')
  assert.equal(await host.flush('a'), 0)
  assert.equal(await threadsOf(host, 'a'), undefined)
})

test('a flush reports that no fresh isolate starts, and the old ones stay', async (t) => {
  const root = countingSite(t)
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  await host.render('a', '/')
  const moved = `${root}-moved`
  t.after(() => rmSync(moved, { recursive: true, force: true }))
  renameSync(root, moved)
  await assert.rejects(host.flush('a'), { code: 'RENDER_ISOLATE_LOST' })
  assert.match((await host.render('a', '/')).text, /count (<!-- -->)?2/)
  renameSync(moved, root)
  assert.equal(await host.flush('a'), 1)
  assert.match((await host.render('a', '/')).text, /count (<!-- -->)?1/)
})

test('after a flush the state of modules is new, and the build times are forgotten', async (t) => {
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root: countingSite(t) }] })
  await host.render('a', '/')
  assert.match((await host.render('a', '/')).text, /count (<!-- -->)?2/)
  const [before, ...others] = await host.isolates('a')
  assert.equal(others.length, 0)
  assert.ok((before?.lastBuildMs ?? 0) > 0)
  assert.equal(before?.requests, 2)
  assert.equal(await host.flush('a'), 1)
  const fresh = (await host.isolates('a')).find(({ state }) => state !== 'ending')
  assert.deepEqual([fresh?.lastBuildMs, fresh?.requests, fresh?.thread === before?.thread], [0, 0, false])
  assert.match((await host.render('a', '/')).text, /count (<!-- -->)?1/)
  await waitFor('the end of the old isolate', async () => (await threadsOf(host, 'a'))?.threads === 1, PROCESS_WAIT_MS)
})

test('the modules of the routes in use are evaluated before any request comes to the fresh isolates', async (t) => {
  const root = tempSite(t, {
    'app/page.tsx': 'console.log("evaluated the page")\nexport default () => <p>fine</p>',
    'app/unused/page.tsx': 'console.log("evaluated the other")\nexport default () => <p>other</p>',
    'app/broken/page.tsx': 'console.log("evaluated the broken")\nthrow new Error("at import")',
  })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  const times = (text: string) => host.log.split(`evaluated the ${text}`).length - 1
  await host.render('a', '/broken').catch(() => undefined)
  await host.render('a', '/')
  await waitFor('the first lines', () => times('page') === 1 && times('broken') >= 1, PROCESS_WAIT_MS)
  const broken = times('broken')
  assert.equal(await host.flush('a'), 1)
  await waitFor('the lines of the fresh isolate', () => times('page') === 2 && times('broken') > broken, PROCESS_WAIT_MS)
  assert.match((await host.render('a', '/')).text, /fine/)
  assert.match((await host.render('a', '/unused')).text, /other/)
  await waitFor('the line of the other page', () => times('other') === 1, PROCESS_WAIT_MS)
  assert.equal(times('page'), 2)
})

test('requests in flight end in the old isolate, new ones go to the fresh one', async (t) => {
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root: countingSite(t) }] })
  await host.render('a', '/')
  const begun = Promise.withResolvers<void>()
  let text = ''
  const call = host.worker.open('render', await host.request('a', '/open', { mayStream: true }), {
    timeoutMs: 30_000,
    onChunk: (_head, bytes) => {
      text += Buffer.from(bytes ?? []).toString()
      if (text !== '') begun.resolve()
      return true
    },
  })
  await begun.promise
  assert.equal(await host.flush('a'), 1)
  assert.match((await host.render('a', '/')).text, /count (<!-- -->)?1/)
  // The stream is the old isolate's: nothing of the fresh one can end it.
  assert.equal((await host.render('a', '/end')).text, 'false')
  assert.equal((await threadsOf(host, 'a'))?.active, 1)
  call.abort()
  await assert.rejects(call.reply, { code: 'CORE_ABORTED' })
  assert.equal(text, 'begun ')
  await waitFor('the end of the old isolate', async () => (await threadsOf(host, 'a'))?.threads === 1, PROCESS_WAIT_MS)
  assert.match((await host.render('a', '/')).text, /count (<!-- -->)?2/)
})

test('no request fails while flushes, changes of files and of generations meet', async (t) => {
  const root = countingSite(t)
  const host = await HostProcess.start(t, { render: { max_threads: 1 }, sites: [{ id: 'a', root }] })
  await host.render('a', '/')
  let isOver = false
  const load = async () => {
    let count = 0
    for (; !isOver; count++) assert.match((await host.render('a', '/')).text, /count|changed/)
    return count
  }
  const loads = [load(), load()]
  const [first, second] = await Promise.all([host.flush('a'), host.flush('a')])
  assert.ok(first >= 1 && second >= 1, `${first} and ${second} isolates`)
  isOver = true
  for (const count of await Promise.all(loads)) assert.ok(count > 0)
  writeFiles(root, { 'app/page.tsx': 'export default () => <p>changed</p>' })
  await Promise.all([host.flush('a'), host.changed('a', [join(root, 'app/page.tsx')])])
  assert.match((await host.render('a', '/')).text, /changed/)
  const flushed = host.flush('a')
  await host.serve(2, { render: { timeout_ms: 4_000 }, sites: [{ id: 'a', root }] })
  assert.ok((await flushed) >= 0)
  assert.match((await host.render('a', '/')).text, /changed/)
  await waitFor('the end of all old isolates', async () => (await threadsOf(host, 'a'))?.threads === 1, PROCESS_WAIT_MS)
})
