// Two products, one of two instances with Redis: starts early.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { type TestContext, test } from 'node:test'
import { fetchHttp, type HttpAnswer, requireProgram, type Server, startRedis, startServer, tempSite, waitFor } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'

const BUDGET = 100
const WORKERS = 2
/** Most that may pass in a minute: 2 % more, and one for each worker. */
const MOST = Math.floor(1.02 * BUDGET) + WORKERS
const API = '/__svc/admin/api/rate-limit'

function configOf(t: TestContext, more = '', limit = ''): string {
  const root = tempSite(t, { 'public/a.txt': 'a' })
  return `[server]
listen = "127.0.0.1:0"
workers = ${WORKERS}

${adminToml}
[rate_limit]
enabled = true
requests_per_minute = ${BUDGET}
${limit}
${more}
[[sites]]
id = "one"
root = "${root}"
hostnames = ["localhost", "127.0.0.1"]
`
}

/** A client with an address of its own. */
function clientFrom(t: TestContext, localAddress: string, maxSockets = 8) {
  const agent = new Agent({ keepAlive: true, maxSockets, localAddress })
  t.after(() => agent.destroy())
  return (server: Server, path = '/a.txt', options: Parameters<typeof fetchHttp>[1] = {}) =>
    fetchHttp(server.url + path, { agent, ...options })
}

/** Sends requests at once. @returns how many passed */
async function flood(requests: number, send: (n: number) => Promise<HttpAnswer>): Promise<number> {
  const answers = await Promise.all(Array.from({ length: requests }, (_, n) => send(n)))
  const statuses = new Set(answers.map(({ status }) => status))
  statuses.delete(200)
  statuses.delete(429)
  assert.deepEqual([...statuses], [])
  return answers.filter(({ status }) => status === 200).length
}

/** Requests that workers let pass, or not, by themselves, since the count was late: on a busy machine some are. */
async function decidedLocally(...servers: readonly Server[]): Promise<number> {
  const counts = servers.flatMap((server) => [
    metricOf(server, 'svc_rate_limit_local_decisions_total'),
    metricOf(server, 'svc_rate_limit_local_slices_total').then((slices) => (slices === 0 ? 0 : BUDGET)),
  ])
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

async function metricOf(server: Server, name: string): Promise<number> {
  const { text } = await fetchHttp(`${server.url}/__svc/metrics`)
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

test('one budget for a client over all workers', async (t) => {
  const server = await startServer(t, { config: configOf(t) })
  const busy = clientFrom(t, '127.0.0.2')
  const other = clientFrom(t, '127.0.0.3')
  const root = await bearer('root')

  await t.test('is used up by a flood, whose further requests get 429 with the time to wait', async () => {
    const passed = await flood(3 * BUDGET, () => busy(server))
    assert.ok(passed >= BUDGET && passed <= MOST + (await decidedLocally(server)), `${passed} passed`)
    const { status, headers, text } = await busy(server)
    assert.equal(status, 429)
    assert.equal(headers['content-type'], 'application/problem+json')
    assert.equal(JSON.parse(text).code, 'rate_limited')
    const seconds = Number(headers['retry-after'])
    assert.ok(seconds > 30 && seconds <= 62, `Retry-After ${seconds}`)
    assert.equal(headers['ratelimit-policy'], `"default";q=${BUDGET};w=60`)
    assert.match(String(headers['ratelimit']), /^"default";r=0;t=\d+$/)
    assert.equal((await busy(server, '/a.txt', { method: 'POST', body: 'x' })).status, 429)
    assert.equal((await busy(server, '/__svc/admin/login')).status, 429)
    assert.ok((await metricOf(server, 'svc_rate_limit_refused_total')) >= 3 * BUDGET - passed)
  })

  await t.test('concerns no other client, and no probe', async () => {
    const { status, headers } = await other(server)
    assert.deepEqual([status, headers['ratelimit']], [200, undefined])
    for (const path of ['/__svc/health', '/__svc/metrics', '/health']) assert.equal((await busy(server, path)).status, 200, path)
  })

  await t.test('is listed for the operator, who may give it back', async () => {
    const list = async () => JSON.parse((await other(server, API, { headers: root })).text)
    const { budget, clients } = await list()
    assert.equal(budget, BUDGET)
    assert.deepEqual(
      clients.map(({ client }: { client: string }) => client),
      ['127.0.0.2'],
    )
    assert.ok(clients[0].requests >= BUDGET && clients[0].retry_after_secs > 30)
    await waitFor('the master is told of refusals', async () => {
      await Promise.all(Array.from({ length: 8 }, () => busy(server)))
      return (await list()).clients[0].refused > BUDGET
    })
    const unblock = (ip: string) => other(server, `${API}/${ip}`, { method: 'DELETE', headers: root })
    assert.deepEqual(JSON.parse((await unblock('127.0.0.2')).text), { ok: true, client: '127.0.0.2' })
    assert.equal((await unblock('127.0.0.9')).status, 404)
    assert.equal((await unblock('nonsense')).status, 400)
    const passed = await flood(2 * BUDGET, () => busy(server))
    assert.ok(passed >= BUDGET && passed <= MOST + (await decidedLocally(server)), `${passed} passed`)
  })

  await t.test('does not hold for exempt networks, from the next reload on', async () => {
    const file = server.configFile ?? ''
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace('[rate_limit]', '[rate_limit]\nexempt = ["127.0.0.2/32"]'))
    assert.equal((await other(server, '/__svc/api/reload', { method: 'POST', headers: root })).status, 200)
    assert.equal(await flood(2 * BUDGET, () => busy(server)), 2 * BUDGET)
    const passed = await flood(2 * BUDGET, () => other(server))
    assert.ok(passed <= MOST + (await decidedLocally(server)), `${passed} passed`)
  })
})

test('instances with Redis have one budget for a client together', async (t) => {
  const program = requireProgram(t, 'redis-server')
  if (program === undefined) return
  const redis = await startRedis(t, program)
  const config = configOf(t, `[redis]\nurl = "${redis.url}"\n`, 'distributed = true')
  const start = (id: string) => startServer(t, { config: `${config}\n[scaling]\ninstance_id = "${id}"\n` })
  const [a, b] = await Promise.all([start('web-a'), start('web-b')])
  const both = (send: (server: Server) => Promise<HttpAnswer>) => (n: number) => send(n % 2 === 0 ? a : b)
  const most = Math.floor(1.02 * BUDGET) + 2 * WORKERS
  const instances = async () => [await metricOf(a, 'svc_instances'), await metricOf(b, 'svc_instances')].join()
  await waitFor('the instances know each other', async () => (await instances()) === '2,2')

  await t.test('however a flood is spread', async () => {
    const passed = await flood(4 * BUDGET, both(clientFrom(t, '127.0.0.4')))
    assert.ok(passed >= BUDGET && passed <= most + (await decidedLocally(a, b)), `${passed} passed`)
  })

  await t.test('count each by itself while Redis is frozen, and answer every request', async () => {
    redis.child.signal('SIGSTOP')
    const client = clientFrom(t, '127.0.0.5')
    const passed = await flood(4 * BUDGET, both(client))
    assert.ok(passed > 0 && passed < 4 * BUDGET, `${passed} passed`)
    const counted = async (server: Server) => (await metricOf(server, 'svc_rate_limit_local_slices_total')) > 0
    await waitFor('an instance counts by itself', async () => {
      await Promise.all([client(a), client(b)])
      return (await counted(a)) && (await counted(b))
    })
    redis.child.signal('SIGCONT')
  })

  await t.test('and together again after it', async () => {
    await waitFor('Redis is used', async () => (await metricOf(a, 'svc_redis_up')) + (await metricOf(b, 'svc_redis_up')) === 2)
    const client = clientFrom(t, '127.0.0.6')
    await flood(2 * BUDGET, () => client(a))
    await waitFor('the other instance refuses the client', async () => (await client(b)).status === 429)
    await redis.child.kill()
    for (let i = 0; i < 5; i++) assert.equal((await clientFrom(t, `127.0.1.${i + 1}`)(a)).status, 200)
  })
})
