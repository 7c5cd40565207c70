import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import {
  fetchHttp,
  PROCESS_WAIT_MS,
  type PrometheusPeer,
  repositoryRoot,
  requireProgram,
  requireRedisPrograms,
  type Server,
  startPrometheus,
  startRedis,
  startServer,
  tempDir,
  tempSite,
  waitFor,
} from '@svc/testkit'
import { CachedOrigin } from './cached-origin.ts'
import { statusOf } from './control.ts'
import { fileCleanup } from './file-cleanup.ts'

const dir = join(repositoryRoot, 'examples/monitoring')
const read = (name: string) => readFileSync(join(dir, name), 'utf8')

interface Panel {
  readonly id: number
  readonly title: string
  readonly type: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}

const panels: readonly Panel[] = JSON.parse(read('dashboard.json')).panels
/** The queries of the dashboard, for all instances and a window that the test fills in time. */
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*') })),
)

/** The configuration that is shipped, for this server, with scrapes every second. */
function configFor(server: Server): string {
  return read('prometheus.yml')
    .replaceAll('15s', '1s')
    .replace('scrape_timeout: 5s', 'scrape_timeout: 1s')
    .replace('- alerts.yml', `- ${join(dir, 'alerts.yml')}`)
    .replace('127.0.0.1:8080', new URL(server.url).host)
}

/** A site that uses every cache, and an upstream. */
const files = {
  'app/page.tsx': 'export const revalidate = 3600\nexport default () => <p>page</p>',
  'app/data/route.ts': `import { unstable_cache } from 'svc/cache'
const read = unstable_cache(async (number: string) => number, [], { revalidate: 3600 })
export const dynamic = 'force-dynamic'
export const GET = async (request: Request) => new Response(await read(new URL(request.url).search))`,
  'app/items/[id]/page.tsx': 'export const revalidate = 3600\nexport default async ({ params }) => <p>{(await params).id}</p>',
}

const cleanup = fileCleanup()
let server: Server
let requests = 0

const scrape = async (timeoutMs?: number) =>
  (await fetchHttp(`${server.url}/__svc/metrics`, timeoutMs === undefined ? {} : { timeoutMs })).text

async function visit(): Promise<void> {
  requests++
  const paths = ['/', '/data', `/data?${requests}`, `/items/${requests}`, '/up/page', `/up/${requests}`, '/none']
  await Promise.all(paths.map((path) => fetchHttp(server.url + path, { host: 'shop.localhost' })))
}

/** Values of a query. */
async function valuesOf({ url }: PrometheusPeer, expr: string): Promise<number[]> {
  const { status, text } = await fetchHttp(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`)
  assert.equal(status, 200, `${expr}: ${text}`)
  const { data } = JSON.parse(text) as { data: { result: ReadonlyArray<{ value: readonly [number, string] }> } }
  return data.result.map(({ value: [, value] }) => Number(value))
}

/** Counters of a scrape, and the parts of its histograms, by name and labels. */
function countersIn(text: string): Map<string, number> {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  const samples = [...text.matchAll(/^([a-z][^{ ]*)(\S*) (\S+)$/gm)].flatMap(([, name = '', labels = '', value]) => {
    const isCounter = types.get(name) === 'counter' || types.get(name.replace(/_(bucket|sum|count)$/, '')) === 'histogram'
    return isCounter ? ([[name + labels, Number(value)]] as const) : []
  })
  return new Map(samples)
}

/** The Redis of the server is away until a test starts it. */
const socket = join(tempDir(cleanup, 'redis'), 'redis.sock')

before(async () => {
  const upstream = await CachedOrigin.start(cleanup, (_request, response) => {
    response.writeHead(200, { 'cache-control': 'public, max-age=600' }).end('upstream')
  })
  const rule = `[[route_rules]]\npattern = "/up/**"\nupstream = "http://${upstream.host}"\n`
  const site = `[[sites]]\nid = "shop"\nhostnames = ["shop.localhost"]\nroot = "${tempSite(cleanup, files)}"\n`
  const shared = `[cache.isr]\nl2_enabled = true\n[redis]\nurl = "unix://${socket}"\n`
  server = await startServer(cleanup, {
    config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n[cache]\n${shared}${site}${rule}`,
  })
})

test('the dashboard and the rules name metrics that are exported, and the guide names all of them', async () => {
  await visit()
  const exported = new Set([...(await scrape()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  const families = (text: string) =>
    [...text.matchAll(/(?<![\w:])(?:http|cache|isr|render|process|plugin|svc)_[a-z0-9_]+/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    )
  const used = families(`${queries.map(({ expr }) => expr).join('\n')}\n${read('alerts.yml')}`)
  assert.ok(used.length > 60)
  assert.deepEqual(
    [...new Set(used)].filter((name) => !exported.has(name)),
    [],
  )
  const explained = new Set(families(readFileSync(join(repositoryRoot, 'docs/monitoring.md'), 'utf8')))
  assert.deepEqual(
    [...exported].filter((name) => !explained.has(name)),
    [],
  )
})

test('the panels of the dashboard have ids of their own and places that do not overlap', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => [x + (i % w), y + Math.floor(i / w)] as const),
  )
  assert.equal(new Set(cells.map(String)).size, cells.length)
  assert.ok(cells.every(([column]) => column < 24))
  assert.ok(panels.every(({ type, targets = [] }) => (type === 'row') === (targets.length === 0)))
})

test('promtool accepts the rules, the configuration and a scrape, but for the name of one metric', async (t) => {
  const promtool = requireProgram(t, 'promtool')
  if (promtool === undefined) return
  const check = (args: readonly string[], input = '') =>
    spawnSync(promtool, ['check', ...args], { cwd: dir, encoding: 'utf8', input })
  const rules = check(['rules', 'alerts.yml'])
  assert.equal(rules.status, 0, rules.stdout + rules.stderr)
  const config = check(['config', 'prometheus.yml'])
  assert.equal(config.status, 0, config.stdout + config.stderr)
  await visit()
  const { stdout, stderr } = check(['metrics'], await scrape())
  const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !line.startsWith('render_pool_total '))
  assert.deepEqual(complaints, [])
})

test('in a Prometheus no query fails, every panel has data, and rules fire when and only when they should', async (t) => {
  const [program, redis] = [requireProgram(t, 'prometheus'), requireRedisPrograms(t)]
  if (program === undefined || redis === undefined) return
  const prometheus = await startPrometheus(t, program, configFor(server))
  const alerts = async () => {
    const { data } = JSON.parse((await fetchHttp(`${prometheus.url}/api/v1/alerts`)).text)
    return (data.alerts as ReadonlyArray<{ labels: { alertname: string } }>).map(({ labels }) => labels.alertname)
  }
  await waitFor('an alert on the Redis that is away', async () => (await alerts()).includes('SvcRedisAway'), PROCESS_WAIT_MS)
  await startRedis(t, redis.server, { socket })
  let missing = queries
  const hasData = async ({ expr }: (typeof queries)[number]) => (await valuesOf(prometheus, expr)).some(Number.isFinite)
  const look = async () => {
    await visit()
    const found = await Promise.all(missing.map(hasData))
    missing = missing.filter((_, i) => !found[i])
    return missing.length === 0
  }
  await waitFor('data', look, PROCESS_WAIT_MS).catch((error: Error) => {
    assert.fail(`${error.message} in ${missing.map(({ title, expr }) => `${title}: ${expr}`).join('\n')}`)
  })
  const errors = async () => (await valuesOf(prometheus, 'svc:http_errors:ratio_rate5m'))[0]
  await waitFor('a recorded ratio', async () => (await errors()) === 0, PROCESS_WAIT_MS)
  await waitFor('the end of the alert', async () => (await alerts()).length === 0, PROCESS_WAIT_MS)
  const { data } = JSON.parse((await fetchHttp(`${prometheus.url}/api/v1/rules`)).text)
  const rules = (data.groups as ReadonlyArray<{ rules: ReadonlyArray<{ name: string; health: string }> }>).flatMap(
    (group) => group.rules,
  )
  assert.ok(rules.length >= 17)
  assert.deepEqual(
    rules.filter(({ health }) => health !== 'ok'),
    [],
  )
})

test('no counter of a scrape goes backwards when a worker and a render host are killed and replaced', async () => {
  await visit()
  const { workers, hosts } = await statusOf(server)
  const before = countersIn(await scrape())
  assert.ok((before.get('http_requests_total{method="GET",status="200",path_group="/data"}') ?? 0) > 0)
  assert.ok((before.get('render_duration_seconds_count') ?? 0) > 0)
  const victims = [workers[0]?.pid ?? 0, hosts[0]?.pid ?? 0]
  for (const pid of victims) process.kill(pid, 'SIGKILL')
  await waitFor(
    'other processes',
    async () => {
      const now = await statusOf(server)
      const ready = [...now.workers, ...now.hosts].filter(({ state, pid }) => state === 'ready' && !victims.includes(pid ?? 0))
      return ready.length === workers.length + 1
    },
    PROCESS_WAIT_MS,
  )
  for (let round = 0; round < 3; round++) {
    const after = countersIn(await scrape())
    const fallen = [...before].filter(([name, value]) => (after.get(name) ?? 0) < value)
    assert.deepEqual(fallen, [])
    assert.equal(after.get('svc_process_deaths_total{kind="worker"}'), 1)
    await visit()
  }
})

test('while a worker is stopped a scrape has its last values and says that a process did not answer', async (t) => {
  await visit()
  const before = countersIn(await scrape())
  const stopped = (await statusOf(server)).workers[0]?.pid ?? 0
  process.kill(stopped, 'SIGSTOP')
  t.after(() => {
    try {
      process.kill(stopped, 'SIGCONT')
    } catch {
      // The master has replaced it.
    }
  })
  // Some of the connections go to the stopped worker, and the master replaces it before long.
  const marked = async () => {
    const text = await scrape(6_000)
    assert.match(text, /^svc_scrape_stale_processes 1$/m)
    return countersIn(text)
  }
  const after = await Promise.any(Array.from({ length: 8 }, marked))
  assert.deepEqual(
    [...before].filter(([name, value]) => (after.get(name) ?? 0) < value),
    [],
  )
})
