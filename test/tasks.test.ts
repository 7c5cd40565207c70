import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { fetchHttp, requireProgram, type Server, startRedis, startServer, tempSite, waitFor } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'

const API = '/__svc/admin/api/tasks'

interface Run {
  readonly id: string
  readonly due_at: string
  readonly state: string
  readonly trigger: string
  readonly detail: string
}

/** An upstream that tasks and clients reach by a route rule. */
class Upstream {
  readonly seen: IncomingHttpHeaders[] = []
  status = 204
  host = ''

  static async start(t: TestContext): Promise<Upstream> {
    const upstream = new Upstream()
    const server = createServer(({ headers }, response) => {
      upstream.seen.push(headers)
      response.writeHead(upstream.status).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    upstream.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    return upstream
  }
}

async function ask(server: Server, method: string, path: string, body?: unknown) {
  const headers = { ...(await bearer('root')), ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await fetchHttp(server.url + path, { method, headers, ...text })
  return { status: answer.status, json: JSON.parse(answer.text) }
}

const runsOf = async (server: Server): Promise<readonly Run[]> => (await ask(server, 'GET', `${API}/tick/runs`)).json.runs

test('tasks of two instances with Redis', async (t) => {
  const program = requireProgram(t, 'redis-server')
  if (program === undefined) return
  const redis = await startRedis(t, program)
  const upstream = await Upstream.start(t)
  const config = `[server]
listen = "127.0.0.1:0"
workers = 2

${adminToml}
[redis]
url = "${redis.url}"

[[sites]]
id = "one"
root = "${tempSite(t, { 'public/a.txt': 'a' })}"
hostnames = ["one.localhost"]

[[route_rules]]
pattern = "/tick/**"
upstream = "http://${upstream.host}"

[[tasks]]
name = "tick"
schedule = "* * * * * *"
handler = "http::POST /tick/now?x=1"

[[waf.rules]]
id = "no-tick"
action = "block"
when = { path = "^/tick/now$" }
`
  const start = (id: string) => startServer(t, { config: `${config}\n[scaling]\ninstance_id = "${id}"\n` })
  const [a, b] = await Promise.all([start('web-a'), start('web-b')])

  await t.test('run once for each time of the schedule', async () => {
    await waitFor('some runs', async () => (await runsOf(a)).length + (await runsOf(b)).length >= 4)
    const runs = [...(await runsOf(a)), ...(await runsOf(b))].filter(({ state }) => state === 'ok')
    assert.equal(new Set(runs.map(({ due_at }) => due_at)).size, runs.length)
    const ids = upstream.seen.map((headers) => headers['x-request-id'])
    for (const { id } of runs) assert.ok(ids.includes(id), 'the upstream knows the run')
  })

  await t.test('name themselves to the site, and clients cannot', async () => {
    const { 'x-svc-task': name, 'cdn-loop': loop = '', 'x-forwarded-for': client } = upstream.seen[0] ?? {}
    assert.deepEqual([name, client], ['tick', 'unix:'])
    assert.match(String(loop), /^svc;web-[ab], svc;web-[ab]$/)
    const headers = { 'x-svc-task': 'tick', 'x-probe': 'mine' }
    assert.equal((await fetchHttp(`${a.url}/tick/x`, { host: 'one.localhost', headers })).status, 204)
    const own = upstream.seen.find((seen) => seen['x-probe'] === 'mine')
    assert.ok(own)
    assert.equal(own['x-svc-task'], undefined)
  })

  await t.test('pass the firewall, and clients do not', async () => {
    const sent = await fetchHttp(`${a.url}/tick/now?x=1`, {
      host: 'one.localhost',
      method: 'POST',
      headers: { 'x-svc-task': 'tick' },
    })
    assert.equal(sent.status, 403)
    assert.ok((await runsOf(a)).some(({ state }) => state === 'ok'))
  })

  await t.test('can be disabled and run by hand, and report a failure', async () => {
    for (const server of [a, b]) {
      const changed = await ask(server, 'PUT', `${API}/tick`, { enabled: false })
      assert.deepEqual([changed.status, changed.json.enabled], [200, false])
    }
    const [listed] = (await ask(a, 'GET', API)).json.tasks
    assert.deepEqual([listed.enabled, listed.next_run_at, listed.host], [false, null, 'one.localhost'])
    await waitFor('the runs in progress end', async () => (await runsOf(a))[0]?.state !== 'running')
    upstream.status = 503
    const begun = await waitFor('no run is in progress', async () => {
      const answer = await ask(a, 'POST', `${API}/tick/run`)
      return answer.status === 409 ? undefined : answer
    })
    assert.deepEqual([begun.status, begun.json.run.trigger], [202, 'manual'])
    const failed = await waitFor('the run ends', async () => (await runsOf(a)).find(({ state }) => state === 'failed'))
    assert.deepEqual([failed.id, failed.trigger, failed.detail], [begun.json.run.id, 'manual', 'status 503'])
    const { text } = await fetchHttp(`${a.url}/__svc/metrics`)
    assert.match(text, /^svc_task_runs_total\{state="failed"\} [1-9]/m)
    assert.equal((await ask(a, 'POST', `${API}/none/run`)).status, 404)
    assert.equal((await ask(a, 'GET', `${API}/none/runs`)).json.code, 'sup_unknown_task')
  })
})
