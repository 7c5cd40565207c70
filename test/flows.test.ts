import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AnalyticsReport } from '@svc/protocol'
import { fetchHttp, PROCESS_WAIT_MS, type Server, startServer, tempSite, waitFor } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'
import { statusOf } from './control.ts'
import { EventReader } from './event-reader.ts'

const API = '/__svc/admin/api/flows'

interface Flow {
  readonly request_id: string
  readonly site: string
  readonly path: string
  readonly status: number
  readonly reason: string
  readonly duration_ms: number
  readonly stages: readonly {
    readonly name: string
    readonly start_ms: number
    readonly duration_ms: number
    readonly outcome: string
  }[]
}

type Username = Parameters<typeof bearer>[0]

async function ask(server: Server, path: string, username: Username = 'vera', timeoutMs = PROCESS_WAIT_MS) {
  const { status, text } = await fetchHttp(server.url + API + path, { headers: await bearer(username), timeoutMs })
  return { status, json: JSON.parse(text) as { flows: Flow[]; is_partial: boolean } & Flow, text }
}

/** Analytics of the last hour: requests and status of all its minutes, latencies of the newest minute with requests. */
async function lastHour(server: Server, query = '', username: Username = 'vera') {
  const url = `${server.url}/__svc/obs/analytics?window=1h${query}`
  const { text } = await fetchHttp(url, { headers: await bearer(username) })
  const { buckets, top } = JSON.parse(text) as Pick<AnalyticsReport, 'buckets' | 'top'>
  const used = buckets.filter(({ requests }) => requests > 0)
  const sumOf = (statusClass: string) => used.reduce((sum, { status }) => sum + (status[statusClass] ?? 0), 0)
  return {
    requests: used.reduce((sum, { requests }) => sum + requests, 0),
    status: { '2xx': sumOf('2xx'), '5xx': sumOf('5xx') },
    p50_ms: used.at(-1)?.p50_ms,
    top,
  }
}

/** The newest flow of a path, once it is there. */
async function flowTo(server: Server, path: string): Promise<Flow> {
  let found: Flow | undefined
  const look = async () => {
    found = (await ask(server, '?limit=1000')).json.flows.find((flow) => flow.path === path)
    return found !== undefined
  }
  await waitFor(`a flow to ${path}`, look, PROCESS_WAIT_MS)
  assert.ok(found)
  return found
}

const files = {
  'app/page.tsx': 'export const revalidate = 3600\nexport default function Page() { return <p>kept</p> }\n',
  'app/[name]/page.tsx': `export const dynamic = 'force-dynamic'
export default async function Page({ params }) {
  const { name } = await params
  if (name === 'fails') throw new Error('broken')
  if (name === 'slow') await new Promise((resolve) => setTimeout(resolve, 400))
  return <p>{name}</p>
}
`,
  'middleware.js': "export const config = { matcher: ['/slow'] }\nexport function middleware() {}\n",
}

async function start(t: TestContext): Promise<Server> {
  const tables = ['shop', 'blog'].map((id) => {
    const tenant = id === 'shop' ? 'tenant = "acme"\n' : ''
    return `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "${tempSite(t, files)}"\n${tenant}`
  })
  const more = '[obs]\nslow_ms = 300\n'
  return startServer(t, { config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n${more}${adminToml}${tables.join('')}` })
}

const get = (server: Server, path: string, host = 'shop.test') => fetchHttp(server.url + path, { host })

test('slow and failed requests are recorded with their stages and without their query, and count in analytics', async (t) => {
  const server = await start(t)
  const follow = (query: string, username: Username) => EventReader.open(t, server, `${API}/stream${query}`, username)
  const [all, own, slowOnly] = [await follow('', 'vera'), await follow('', 'tom'), await follow('?reason=slow&site=shop', 'root')]
  assert.equal((await get(server, '/slow?token=hidden')).status, 200)
  assert.equal((await get(server, '/fails?token=hidden', 'blog.test')).status, 500)
  const slow = await flowTo(server, '/slow')
  assert.deepEqual([slow.site, slow.status, slow.reason], ['shop', 200, 'slow'])
  assert.deepEqual(
    // A thread may have to be started first.
    slow.stages.map(({ name }) => name).filter((name) => name !== 'queue'),
    ['l0', 'router', 'middleware', 'router', 'isr', 'lease', 'render', 'write'],
  )
  const render = slow.stages.find(({ name }) => name === 'render')
  assert.ok(render !== undefined && render.duration_ms >= 300, JSON.stringify(slow))
  for (const [index, { start_ms, duration_ms }] of slow.stages.entries()) {
    const next = slow.stages[index + 1]?.start_ms ?? slow.duration_ms
    assert.ok(Math.abs(start_ms + duration_ms - next) < 0.01, `stages follow one another: ${JSON.stringify(slow)}`)
  }
  const failed = await flowTo(server, '/fails')
  assert.deepEqual([failed.site, failed.status, failed.reason], ['blog', 500, 'failed'])
  const { text } = await ask(server, '')
  assert.doesNotMatch(text, /hidden/)

  assert.equal((await ask(server, `/${slow.request_id}`)).json.path, '/slow')
  assert.equal((await ask(server, `/${slow.request_id}`, 'tom')).status, 200)
  assert.equal((await ask(server, `/${failed.request_id}`, 'tom')).status, 404, 'of another tenant')
  assert.equal((await ask(server, '/no-such')).status, 404)
  const listed = (await ask(server, '', 'tom')).json.flows
  assert.ok(listed.length > 0 && listed.every(({ site }) => site === 'shop'))

  await all.has(`data: ${JSON.stringify(slow)}\n\n`)
  await all.has(`data: ${JSON.stringify(failed)}\n\n`)
  await own.has(slow.request_id)
  await slowOnly.has(slow.request_id)
  assert.doesNotMatch(`${own.text}${slowOnly.text}`, /"blog"/)

  await waitFor('analytics of both sites', async () => (await lastHour(server)).requests === 2, PROCESS_WAIT_MS)
  const { status, p50_ms: median, top } = await lastHour(server, '&site=shop', 'tom')
  assert.deepEqual([status['2xx'], status['5xx'], top.paths], [1, 0, [{ name: '/slow', count: 1 }]])
  assert.ok((median ?? 0) >= 300 * 0.98, `a median of ${median} ms`)
  const blog = await lastHour(server, '&site=blog')
  assert.deepEqual([blog.status['5xx'], blog.top.clients], [1, [{ name: '127.0.0.1', count: 1 }]])
  assert.equal((await lastHour(server, '', 'tom')).requests, 1, 'a tenant has its own sites')
  await server.child.stop()
  const kept = readdirSync(join(dirname(server.configFile ?? ''), 'state/analytics'))
  assert.ok(
    kept.some((name) => name.startsWith('minutes-')),
    kept.join(),
  )
})

test('a worker that hangs is missing in the list, which says so', async (t) => {
  const server = await start(t)
  await get(server, '/slow')
  await flowTo(server, '/slow')
  const pids = (await statusOf(server)).workers.map(({ pid }) => pid)
  const [stopped = 0] = pids
  process.kill(stopped, 'SIGSTOP')
  t.after(() => {
    try {
      process.kill(stopped, 'SIGCONT')
    } catch {
      // The master has replaced it.
    }
  })
  // Some of the connections go to the stopped worker, and the master replaces it before long.
  const partial = async () => {
    const asked = Array.from({ length: 8 }, () => ask(server, '', 'vera', 6_000))
    const answers = await Promise.allSettled(asked)
    return answers.some((answer) => answer.status === 'fulfilled' && answer.value.json.is_partial)
  }
  const partialL0 = async () => {
    const url = `${server.url}/__svc/obs/cache?layer=l0`
    const asked = Array.from({ length: 8 }, async () => fetchHttp(url, { headers: await bearer('vera'), timeoutMs: 6_000 }))
    const answers = await Promise.allSettled(asked)
    return answers.some((answer) => answer.status === 'fulfilled' && /"missing":\["w[12]"\]/.test(answer.value.text))
  }
  await Promise.all([
    waitFor('a partial list', partial, PROCESS_WAIT_MS),
    waitFor('a partial list of L0', partialL0, PROCESS_WAIT_MS),
  ])
})
