// Starts first: two products behind nginx, with Redis in all kinds of trouble.
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  fetchHttp,
  type HttpAnswer,
  RedisMonitor,
  type RedisPeer,
  requireProgram,
  type Server,
  startNginx,
  startRedis,
  startServer,
  waitFor,
} from '@svc/testkit'
import { Backend, client, configOf, isr, shown } from './backend.ts'
import { CachedOrigin } from './cached-origin.ts'

const CLIENTS = 1_000
/** As many connect at once. */
const BATCH = 100
const json = { 'content-type': 'application/json' }

/** Two instances of one site behind nginx, and their Redis. */
class Pair {
  readonly backend: Backend
  readonly upstream: CachedOrigin
  readonly a: Server
  readonly b: Server
  readonly #front: Agent
  readonly #program: string
  readonly #t: TestContext
  redis: RedisPeer

  private constructor(
    t: TestContext,
    program: string,
    parts: Pick<Pair, 'backend' | 'upstream' | 'a' | 'b' | 'redis'>,
    front: Agent,
  ) {
    this.#t = t
    this.#program = program
    this.backend = parts.backend
    this.upstream = parts.upstream
    this.a = parts.a
    this.b = parts.b
    this.redis = parts.redis
    this.#front = front
  }

  static async start(t: TestContext, program: string, nginx: string): Promise<Pair> {
    const redis = await startRedis(t, program)
    const backend = await Backend.start(t)
    const upstream = await CachedOrigin.start(t, (_request, response, number) => {
      response.writeHead(200, { 'cache-control': 'public, max-age=600' }).end(`upstream ${number}`)
    })
    const files = {
      'app/page.tsx': backend.page('home', 'export const revalidate = 3600'),
      'app/data/[id]/page.tsx': `export const dynamic = 'force-dynamic'
export default async function Page() {
  const response = await fetch('http://${backend.host}/data', { next: { revalidate: 600, tags: ['figures'] } })
  return <p>{await response.text()}</p>
}
`,
      'app/cold/page.tsx': backend.page('cold', 'export const revalidate = 3600'),
      'app/items/[id]/page.tsx': backend.page('items', 'export const revalidate = 3600'),
    }
    const shared = `[cache.isr]\nl2_enabled = true\n\n[redis]\nurl = "${redis.url}"\n`
    const rule = `[[route_rules]]\npattern = "/up/**"\nupstream = "http://${upstream.host}"\n`
    const config = configOf(t, backend, [{ id: 'one', files }], `${shared}\n${rule}`).replace('workers = 2', 'workers = 1')
    const start = (id: string) =>
      startServer(t, { config: `${config}\n[scaling]\nsession_affinity = "cookie"\ninstance_id = "${id}"\n` })
    const [a, b] = await Promise.all([start('web-a'), start('web-b')])
    const [hostA, hostB] = [a, b].map(({ url }) => new URL(url).host)
    const groups = `upstream all { server ${hostA}; server ${hostB}; }
      upstream web-a { server ${hostA}; server ${hostB} backup; }
      upstream web-b { server ${hostB}; server ${hostA} backup; }
      map $cookie_SVC_SID $instance { web-a web-a; web-b web-b; default all; }`
    const location =
      'location / { proxy_pass http://$instance; proxy_http_version 1.1; proxy_set_header Host $host; proxy_next_upstream off; }'
    const front = await startNginx(t, nginx, `${location} } ${groups} server { listen unix:unused.sock;`)
    const agent = Object.assign(new Agent({ keepAlive: true, maxSockets: BATCH }), {
      createConnection: () => connect(front.socket),
    })
    t.after(() => agent.destroy())
    return new Pair(t, program, { backend, upstream, a, b, redis }, agent)
  }

  /** Requests a path of the site through nginx. */
  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    return fetchHttp(`http://one.localhost${path}`, { agent: this.#front, headers, timeoutMs: 120_000 })
  }

  /** Purges pages by a tag on one instance. */
  async purge(
    server: Server,
    tag: string,
  ): Promise<{ readonly l2?: string; readonly instances: { acked: number; known: number } }> {
    const body = JSON.stringify({ tags: [tag] })
    const { status, text } = await fetchHttp(`${server.url}/__svc/api/invalidate`, { method: 'POST', headers: json, body })
    assert.equal(status, 200, text)
    return JSON.parse(text)
  }

  async health(server: Server): Promise<string> {
    const { text } = await fetchHttp(`${server.url}/__svc/health`)
    return JSON.parse(text).checks.redis
  }

  /** Redis is there, and both instances use it. */
  async settled(): Promise<void> {
    for (const server of [this.a, this.b]) {
      await waitFor('the instance uses Redis', async () => (await this.health(server)) === 'ok')
      await waitFor('the instances confirm purges', async () => {
        const { l2, instances } = await this.purge(server, '/none')
        return l2 === 'purged' && instances.acked === 2
      })
    }
  }

  async restartRedis(): Promise<void> {
    await this.redis.child.kill()
    this.redis = await startRedis(this.#t, this.#program, { socket: this.redis.socket })
  }
}

/** Sends a command to Redis, and waits for its OK. */
function redisCommand(socket: string, command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket, () => connection.write(`${command}\r\n`))
    connection.on('error', reject).on('data', (reply) => {
      connection.destroy()
      if (reply.toString().startsWith('+OK')) resolve()
      else reject(new Error(reply.toString()))
    })
  })
}

/** On a busy machine a read of Redis may be late, and an instance goes on alone: in one of some tries none does. */
async function inOneOf(tries: number, isShared: (index: number) => Promise<boolean>): Promise<void> {
  for (let index = 0; index < tries; index++) if (await isShared(index)) return
  assert.fail('the instances share nothing')
}

test('two instances behind nginx', async (t) => {
  const [program, nginx] = [requireProgram(t, 'redis-server'), requireProgram(t, 'nginx')]
  if (program === undefined || nginx === undefined) return
  const pair = await Pair.start(t, program, nginx)
  await pair.settled()

  await t.test('render a page once for both, and go on with its age', async () => {
    const { a, b } = pair
    await inOneOf(5, async (i) => {
      const first = await client(a)(`/items/shared-${i}`)
      const second = await client(b)(`/items/shared-${i}`)
      if (shown(first.text) !== shown(second.text)) return false
      assert.equal(second.headers['last-modified'], first.headers['last-modified'])
      assert.match(isr(second) || String(second.headers['cache-status']), /hit/)
      return true
    })
  })

  await t.test('ask Redis once for a page that the other one has, and never for one of their own', async () => {
    const { a, b } = pair
    const monitor = await RedisMonitor.start(t, pair.redis)
    const sent = async () => (await monitor.commands()).filter((line) => line.includes('"EVALSHA"') && line.includes('{one}'))
    await inOneOf(5, async (i) => {
      const path = `/items/counted-${i}`
      const start = (await sent()).length
      const first = await client(a)(path)
      // Its entry goes to Redis after the response, unless Redis was late for the page.
      await waitFor('the page is in Redis', async () => (await sent()).length >= start + 2).catch(() => undefined)
      const before = (await sent()).length
      const second = await client(b)(path)
      const onHit = (await sent()).length - before
      if (shown(first.text) !== shown(second.text)) return false
      assert.equal(onHit, 1)
      for (const server of [a, b, a, b, a, b]) assert.match(String((await client(server)(path)).headers['cache-status']), /hit/)
      assert.equal((await sent()).length - before, onHit)
      return true
    })
  })

  await t.test('render a cold page once for a thousand requests over both', async () => {
    const { a, backend } = pair
    await inOneOf(3, async () => {
      await pair.purge(a, '/cold')
      const before = backend.count('cold')
      const release = backend.hold('cold')
      const answers = Array.from({ length: CLIENTS }, () => pair.get('/cold'))
      await waitFor('the render waits', () => backend.count('cold') > before)
      release()
      const all = await Promise.all(answers)
      assert.ok(all.every(({ status, text }) => status === 200 && shown(text) > before))
      return backend.count('cold') === before + 1
    })
  })

  await t.test('see each other’s purges before the answer', async () => {
    const { a, b } = pair
    let shared = 0
    for (let round = 0; round < 10; round++) {
      const [here, there] = round % 2 === 0 ? [a, b] : [b, a]
      const show = async (server: Server) => shown((await client(server)('/')).text)
      const before = Math.max(await show(there), await show(here))
      const { l2, instances } = await pair.purge(here, '/')
      assert.deepEqual([l2, instances.known], ['purged', 2])
      // On a busy machine the answer comes before the other instance has confirmed.
      if (instances.acked < 2) await waitFor('the other instance has the purge', async () => (await show(there)) > before)
      const after = await show(there)
      const own = await show(here)
      assert.ok(after > before && own > before, `${after} and ${own} after ${before}`)
      if (after === own) shared++
    }
    assert.ok(shared > 0, 'the page of the other instance is not rendered again')
  })

  await t.test('fetch a response of an upstream once, and invalidate it in both', async () => {
    const { a, b } = pair
    let path = ''
    await inOneOf(5, async (i) => {
      path = `/up/${i}`
      return (await client(a)(path)).text === (await client(b)(path)).text
    })
    const before = (await client(a)(path)).text
    const { text: scraped } = await fetchHttp(`${a.url}/__svc/metrics`)
    for (const line of ['svc_redis_up 1', 'svc_instances 2', 'svc_deferred_purges 0'])
      assert.match(scraped, new RegExp(`^${line}$`, 'm'))
    assert.match(scraped, /^svc_redis_commands_total\{result="ok"\} [1-9]/m)
    assert.match((await fetchHttp(`${b.url}/__svc/metrics`)).text, /^cache_hits_total\{layer="l2"\} [1-9]/m)
    await client(b)(path, { method: 'POST' })
    for (const server of [a, b]) {
      await waitFor('the response is fetched again', async () => (await client(server)(path)).text !== before)
    }
  })

  await t.test('fetch data for pages once, until its tag or the page that asks is purged', async () => {
    const { a, b, backend } = pair
    const data = async (server: Server, id: string) => shown((await client(server)(`/data/${id}`)).text)
    await inOneOf(5, async () => {
      const before = backend.count('data')
      await pair.purge(b, 'figures')
      await waitFor('the purge is there', async () => (await data(a, 'x')) > before)
      return (await data(a, 'x')) === (await data(b, 'y'))
    })
    const before = await data(b, 'y')
    await pair.purge(b, '/data/x')
    await waitFor('the shared data is older than the purge of the page', async () => (await data(a, 'x')) > before)
    assert.equal(await data(b, 'y'), before, 'data of other pages is not touched')
  })

  await t.test('keep a client on its instance by the cookie', async () => {
    const first = await pair.get('/data/x')
    const cookie = /^SVC_SID=web-[ab]/.exec(String(first.headers['set-cookie']))?.[0] ?? ''
    const metric = async (server: Server) => {
      const { text } = await fetchHttp(`${server.url}/__svc/metrics`)
      return Number(/^http_requests_total\{method="GET",status="200",path_group="\/data\/\[id\]"\} (\d+)$/m.exec(text)?.[1] ?? 0)
    }
    const other = cookie.endsWith('a') ? pair.b : pair.a
    const before = await metric(other)
    for (let i = 0; i < 6; i++) {
      const { status, headers } = await pair.get('/data/x', { cookie })
      assert.deepEqual([status, headers['set-cookie']], [200, undefined])
    }
    assert.equal(await metric(other), before)
  })

  const faults: Readonly<Record<string, (pair: Pair) => void | Promise<void>>> = {
    'is frozen': ({ redis }) => redis.child.signal('SIGSTOP'),
    'is killed': async ({ redis }) => void (await redis.child.kill()),
  }
  for (const [fault, cause] of Object.entries(faults)) {
    await t.test(`fail no request while Redis ${fault}, and agree again after it`, async () => {
      let isOver = false
      const failures: string[] = []
      let number = 0
      const load = async () => {
        while (!isOver) {
          // Pages in all caches, and pages in none.
          for (const path of ['/', `/items/${fault}-${number++}`, '/up/0']) {
            const { status } = await pair.get(path)
            if (status !== 200) failures.push(`${path}: ${status}`)
          }
        }
      }
      const loads = [load(), load()]
      await cause(pair)
      const deferred = await pair.purge(pair.a, '/')
      assert.deepEqual([deferred.l2, deferred.instances.acked], ['deferred', 1])
      await waitFor('the health report names the fault', async () => (await pair.health(pair.b)).startsWith('degraded'))
      const here = shown((await client(pair.a)('/')).text)
      if (fault === 'is frozen') pair.redis.child.signal('SIGCONT')
      else await pair.restartRedis()
      await waitFor('the other instance has dropped the page', async () => shown((await client(pair.b)('/')).text) >= here)
      await pair.settled()
      isOver = true
      await Promise.all(loads)
      assert.deepEqual(failures, [])
      await waitFor('both show the same page after a purge', async () => {
        await pair.purge(pair.b, '/')
        const one = shown((await client(pair.a)('/')).text)
        return shown((await client(pair.b)('/')).text) === one
      })
    })
  }

  await t.test('share nothing new while Redis is full, but every purge', async () => {
    const { a, b, backend } = pair
    await redisCommand(pair.redis.socket, 'CONFIG SET maxmemory 1')
    const one = shown((await client(a)('/items/full')).text)
    const other = shown((await client(b)('/items/full')).text)
    assert.notEqual(one, other, 'each has rendered it')
    const before = backend.count('items')
    // On a busy machine Redis may be late for one.
    await waitFor('a purge is in Redis', async () => (await pair.purge(a, '/items/full')).l2 === 'purged')
    await waitFor('the other instance has the purge', async () => shown((await client(b)('/items/full')).text) > before)
  })
})
