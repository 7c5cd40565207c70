// Campaign: faults during purges.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { StatusReport } from '@svc/protocol'
import {
  Child,
  fetchHttp,
  PROCESS_WAIT_MS,
  type Server,
  startLoad,
  startServer,
  svcCommand,
  tempSite,
  waitFor,
} from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'
import { statusOf } from './control.ts'

const cached = `
export const revalidate = 3600
export default function Page() { return <p id="made">{crypto.randomUUID()}</p> }`
const dynamic = `
export const dynamic = 'force-dynamic'
export default async function Page() { return <p>{String(Math.random())}</p> }`

async function start(t: TestContext): Promise<Server> {
  const root = tempSite(t, { 'app/page.tsx': cached, 'app/live/page.tsx': dynamic })
  const sites = `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n`
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n\n${adminToml}\n${sites}`
  return startServer(t, { config })
}

async function svc(t: TestContext, server: Server, ...args: string[]): Promise<string> {
  const child = new Child(t, svcCommand, [...args, '--config', server.configFile ?? ''])
  assert.equal((await child.exited).code, 0, child.stderr)
  return child.stdout
}

/** Asked for on connections of their own. */
async function madeOf(server: Server): Promise<string> {
  const { status, text } = await fetchHttp(`${server.url}/`, { host: 'one.localhost' })
  assert.equal(status, 200, text)
  return /<p id="made">([^<]+)<\/p>/.exec(text)?.[1] ?? assert.fail(text)
}

/** Purges everything by the control socket and answers with how many workers have noted it. */
async function purgeAll(t: TestContext, server: Server): Promise<{ readonly acked: number; readonly total: number }> {
  return JSON.parse(await svc(t, server, 'purge', 'isr', '--pattern', '*', '--json')).workers
}

async function twoWorkers(server: Server): Promise<StatusReport> {
  return waitFor(
    'two workers',
    async () => {
      const status = await statusOf(server)
      return status.workers.length === 2 && status.workers.every(({ state }) => state === 'ready') ? status : undefined
    },
    PROCESS_WAIT_MS,
  )
}

test('a stopped worker is killed by a purge, which is answered, and nothing old is served afterwards', async (t) => {
  const server = await start(t)
  const old = await madeOf(server)
  const { workers } = await statusOf(server)
  const victim = workers[0]?.pid ?? assert.fail('no worker')
  process.kill(victim, 'SIGSTOP')
  const { acked, total } = await purgeAll(t, server)
  assert.ok(acked < total, `${acked} of ${total}`)
  const after = await twoWorkers(server)
  assert.ok(!after.workers.some(({ pid }) => pid === victim))
  for (let i = 0; i < 12; i++) assert.notEqual(await madeOf(server), old)
})

test('purges go on while a worker is killed under them, and nothing old is served after any of them', async (t) => {
  const server = await start(t)
  for (let round = 0; round < 3; round++) {
    const old = await madeOf(server)
    const { workers } = await twoWorkers(server)
    const purging = purgeAll(t, server)
    process.kill(workers[round % 2]?.pid ?? assert.fail('no worker'), 'SIGKILL')
    await purging
    await twoWorkers(server)
    for (let i = 0; i < 8; i++) assert.notEqual(await madeOf(server), old)
  }
})

test('no request fails while all render workers are replaced under load', async (t) => {
  const server = await start(t)
  await waitFor(
    'a spare host',
    async () => (await statusOf(server)).hosts.some(({ state }) => state === 'spare'),
    PROCESS_WAIT_MS,
  )
  const load = startLoad(t, { url: `${server.url}/live`, host: 'one.localhost', keepAlive: 4, fresh: 2 })
  await waitFor('some load', () => load.done() > 100, PROCESS_WAIT_MS)
  const before = (await statusOf(server)).hosts.map(({ pid }) => pid)
  const headers = await bearer('root')
  const begun = await fetchHttp(`${server.url}/__svc/admin/api/workers/restart`, { method: 'POST', headers })
  assert.equal(begun.status, 202, begun.text)
  const { ok, restart_id: id, render_workers: total } = JSON.parse(begun.text)
  assert.deepEqual([ok, total], [true, 2])
  const progress = async () =>
    JSON.parse((await fetchHttp(`${server.url}/__svc/admin/api/workers/restart/${id}`, { headers })).text)
  const ended = await waitFor(
    'the end of the restart',
    async () => {
      const status = await progress()
      return status.state === 'running' ? undefined : status
    },
    60_000,
  )
  assert.deepEqual(ended, { ok: true, restart_id: id, state: 'done', replaced: 2, total: 2 })
  const done = load.done()
  await waitFor('more load', () => load.done() > done + 100, PROCESS_WAIT_MS)
  const report = await load.stop()
  assert.deepEqual(report.failures.slice(0, 5), [])
  const after = (await statusOf(server)).hosts.map(({ pid }) => pid)
  assert.deepEqual(
    after.filter((pid) => before.includes(pid)),
    [],
  )
  assert.match(await svc(t, server, 'workers', 'restart'), /^replaced 2 render hosts\n$/)
})

test('health tells of a store whose files are deleted under the server, which goes on serving', async (t) => {
  const server = await start(t)
  await madeOf(server)
  const health = async () => {
    const { status, text } = await fetchHttp(`${server.url}/__svc/health`)
    return [status, JSON.parse(text).checks.isr_cache]
  }
  assert.deepEqual(await health(), [200, 'ok'])
  rmSync(join(dirname(server.configFile ?? assert.fail()), 'cache/isr'), { recursive: true, maxRetries: 20 })
  const [status, check] = await health()
  assert.equal(status, 503)
  assert.match(check, /^degraded: its files were deleted/)
  await madeOf(server)
})
