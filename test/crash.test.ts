import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, startLoad, startServer, tempSite, waitFor } from '@svc/testkit'
import { statusOf } from './control.ts'

const config = (root: string) =>
  `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n\n[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n`

test('no GET fails when a render host is killed under load', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': 'export default async function Page() { return <p>hello</p> }' })
  const server = await startServer(t, { config: config(root) })
  assert.equal((await fetchHttp(`${server.url}/`, { host: 'one.localhost' })).status, 200)
  const load = startLoad(t, { pauseMs: 5, url: `${server.url}/`, host: 'one.localhost', keepAlive: 6, fresh: 2 })
  for (let round = 1; round <= 3; round++) {
    const before = load.done()
    await waitFor('some load', () => load.done() > before + 500, PROCESS_WAIT_MS)
    // The successor has started: a second death before that is another case.
    const { hosts } = await waitFor(
      'a spare',
      async () => {
        const now = await statusOf(server)
        return now.hosts.some((host) => host.state === 'spare') && now
      },
      PROCESS_WAIT_MS,
    )
    const victim = hosts.find((host) => host.state === 'ready')
    assert.ok(victim, 'a host is ready')
    process.kill(victim.pid, 'SIGKILL')
    await waitFor(
      'a replacement',
      async () => {
        const now = await statusOf(server)
        return now.hosts.some((host) => host.state === 'ready' && host.pid !== victim.pid)
      },
      PROCESS_WAIT_MS,
    )
  }
  const report = await load.stop()
  assert.deepEqual(report.failures.slice(0, 5), [])
  assert.ok(report.ok > 1500)
})

test('a killed worker is replaced, and only its own connections fail', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': 'export default function Page() { return <p>hello</p> }' })
  const server = await startServer(t, { config: config(root) })
  const keepAlive = 8
  const load = startLoad(t, { pauseMs: 5, url: `${server.url}/`, host: 'one.localhost', keepAlive, fresh: 0 })
  await waitFor('some load', () => load.done() > 500, PROCESS_WAIT_MS)
  const { workers } = await statusOf(server)
  assert.equal(workers.length, 2)
  const victim = workers[0]
  assert.ok(victim)
  process.kill(victim.pid, 'SIGKILL')
  await waitFor(
    'a new worker',
    async () => {
      const now = await statusOf(server)
      return now.workers.length === 2 && now.workers.every((worker) => worker.pid !== victim.pid && worker.state === 'ready')
    },
    PROCESS_WAIT_MS,
  )
  const before = load.done()
  await waitFor('more load', () => load.done() > before + 500, PROCESS_WAIT_MS)
  const report = await load.stop()
  // A client that comes back at once may get into the queue of the dying process, and is cut once more.
  assert.ok(report.failures.length <= 2 * keepAlive, `others fail too: ${report.failures.join('; ')}`)
  assert.deepEqual(new Set(report.failures.filter((failure) => !/ECONNRESET|socket hang up/.test(failure))), new Set())
})
