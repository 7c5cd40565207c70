import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import {
  Child,
  fetchHttp,
  type HttpAnswer,
  type HttpOptions,
  PROCESS_WAIT_MS,
  type Server,
  startServer,
  svcCommand,
  waitFor,
} from '@svc/testkit'
import { bearer } from '../packages/auth/test/admin-users.ts'
import { client, restart } from './backend.ts'
import { type Answer, CachedOrigin, sharedCachingConfig } from './cached-origin.ts'
import { statusOf } from './control.ts'
import { fileCleanup } from './file-cleanup.ts'

const fresh = { 'cache-control': 'max-age=3600', 'content-type': 'text/plain' }
const noL0 = '[cache.l0]\nenabled = false\n'

/** Answers with the number of the request. */
const numbered: Answer = (_request, response, number) => response.writeHead(200, fresh).end(String(number))

/** Two servers for all tests here. Each test has an upstream, and hosts, of its own; those that end a process come last. */
const cleanup = fileCleanup()
const origins = new Map<string, CachedOrigin>()
let server: Server
let withoutL0: Server
before(async () => {
  const start = async (names: readonly string[], more: string) => {
    const own: Record<string, CachedOrigin> = {}
    for (const name of names) own[name] = await CachedOrigin.start(cleanup)
    for (const [name, origin] of Object.entries(own)) origins.set(name, origin)
    return startServer(cleanup, { config: sharedCachingConfig(cleanup, own, more) })
  }
  server = await start(['purged', 'changed', 'large', 'kept'], '')
  withoutL0 = await start(['filling', 'thousand', 'killed'], noL0)
})

function originOf(name: string, answer: Answer): CachedOrigin {
  const origin = origins.get(name) ?? assert.fail(name)
  origin.answer = answer
  return origin
}

async function counter(server: Server, name: string): Promise<number> {
  const { text } = await fetchHttp(`${server.url}/__svc/metrics`)
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.split(' ')[1] ?? Number.NaN)
}

/** Responses of all workers: each request has a connection of its own. */
async function answers(get: (path: string, options?: HttpOptions) => Promise<HttpAnswer>, path: string): Promise<Set<string>> {
  const all = await Promise.all(Array.from({ length: 12 }, () => get(path)))
  return new Set(all.map(({ text }) => text))
}

test('every purge of the proxy cache is effective for the next request of every worker, from any origin', async (t) => {
  originOf('purged', numbered)
  const a = client(server, 'a.purged.localhost')
  const b = client(server, 'b.purged.localhost')
  const order = async (body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetchHttp(`${server.url}/__svc/cache/purge-proxy`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    assert.equal(answer.status, 200, answer.text)
    return JSON.parse(answer.text) as { layer: string; purged: number; also?: Record<string, number> }
  }
  const fill = async () => {
    for (const path of ['/x/1', '/x/2?q', '/y']) {
      for (const get of [a, b]) await waitFor('one answer', async () => (await answers(get, path)).size === 1, PROCESS_WAIT_MS)
    }
  }
  await fill()
  const before = { own: await answers(a, '/x/1'), other: await answers(b, '/x/1'), far: await answers(a, '/y') }

  const report = await order({ host: 'a.purged.localhost:80', paths: ['/x/1'] })
  assert.deepEqual([report.layer, report.purged], ['proxy', 1])
  const changed = await answers(a, '/x/1')
  assert.equal(changed.size, 1, `one new response is shared, not ${[...changed].join(' and ')}`)
  assert.ok(!changed.has([...before.own][0] ?? ''), 'the purged response is not served')
  assert.deepEqual([await answers(b, '/x/1'), await answers(a, '/y')], [before.other, before.far])

  assert.equal((await order({ host: 'a.purged.localhost', prefixes: ['/x/'] })).purged, 2)
  assert.notDeepEqual(await answers(a, '/x/1'), changed)
  assert.deepEqual([await answers(b, '/x/1'), await answers(a, '/y')], [before.other, before.far])

  const command = new Child(t, svcCommand, [
    'purge',
    'proxy',
    '--host',
    'b.purged.localhost',
    '--json',
    '--config',
    server.configFile ?? '',
  ])
  assert.equal((await command.exited).code, 0, command.stderr)
  assert.equal((JSON.parse(command.stdout) as { purged: number }).purged, 3)
  assert.notDeepEqual(await answers(b, '/x/1'), before.other)
  assert.deepEqual(await answers(a, '/y'), before.far)

  const everything = await fetchHttp(`${server.url}/__svc/admin/api/cache/purge?pattern=*`, {
    method: 'POST',
    headers: await bearer('root'),
  })
  assert.equal(everything.status, 200, everything.text)
})

test('a request that changes something takes effect on every worker before it is answered', async () => {
  let state = 0
  originOf('changed', (asked, response) => {
    if (asked.method === 'POST') state++
    response.writeHead(200, fresh).end(String(state))
  })
  const get = client(server, 'a.changed.localhost')
  for (let round = 1; round <= 5; round++) {
    await answers(get, '/x')
    assert.equal((await get('/x', { method: 'POST', body: 'change' })).text, String(round))
    assert.deepEqual(await answers(get, '/x'), new Set([String(round)]))
  }
})

test('a fill that began before an unsafe request to any worker is not stored', async () => {
  const gate = Promise.withResolvers<void>()
  const origin = originOf('filling', (_request, response, number) => {
    if (number > 1) response.writeHead(200, fresh).end('new')
    else void gate.promise.then(() => response.writeHead(200, fresh).end('old'))
  })
  const get = client(withoutL0, 'a.filling.localhost')
  const paths = Array.from({ length: 8 }, (_, index) => `/${index}`)
  const before = paths.map((path) => get(path))
  for (const one of before) one.catch(() => undefined)
  await waitFor('all to be asked for', () => paths.every((path) => origin.count(path) === 1), PROCESS_WAIT_MS)
  for (const path of paths) assert.equal((await get(path, { method: 'POST', body: 'change' })).text, 'new')
  gate.resolve()
  for (const { text } of await Promise.all(before)) assert.equal(text, 'old')
  for (const path of paths) assert.deepEqual(await answers(get, path), new Set(['new']))
})

test('a thousand requests for what is not stored are one for the upstream, over two workers', async () => {
  const gate = Promise.withResolvers<void>()
  const origin = originOf('thousand', (_request, response) => {
    void gate.promise.then(() => response.writeHead(200, fresh).end('once'))
  })
  const get = client(withoutL0, 'a.thousand.localhost')
  const missed = () => counter(withoutL0, 'svc_proxy_misses_total')
  const before = await missed()
  const asked = Array.from({ length: 1_000 }, () => get('/x'))
  for (const one of asked) one.catch(() => undefined)
  await waitFor('all of them to wait', async () => (await missed()) >= before + 1_000, 60_000)
  gate.resolve()
  for (const { status, text } of await Promise.all(asked)) assert.deepEqual([status, text], [200, 'once'])
  assert.equal(origin.count('/x'), 1)
})

/** Reads an answer without keeping it. */
function download(server: Server, host: string, path: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const asked = request(server.url + path, { headers: { host }, agent: false }, (response) => {
    let bytes = 0
    response.on('data', (data: Buffer) => {
      bytes += data.byteLength
    })
    response.on('end', () => resolve(bytes)).on('error', reject)
  })
  asked.on('error', reject).end()
  return promise
}

function residentBytes(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1])
  return pages * 4096
}

test('200 MB are stored while they are sent, and need no memory to speak of', async (t) => {
  const BYTES = 200 << 20
  const piece = Buffer.alloc(1 << 18, 'x')
  const host = 'a.large.localhost'
  const origin = originOf('large', (_request, response) => {
    response.writeHead(200, { ...fresh, 'content-length': String(BYTES) })
    let sent = 0
    const more = () => {
      while (sent < BYTES) {
        sent += piece.byteLength
        if (!response.write(piece)) return
      }
      response.end()
    }
    response.on('drain', more)
    more()
  })
  const { workers } = await statusOf(server)
  const used = () => workers.reduce((sum, { pid }) => sum + residentBytes(pid), 0)
  const idle = used()
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, used())
  }, 50)
  t.after(() => clearInterval(watch))
  assert.equal(await download(server, host, '/large'), BYTES)
  await waitFor(
    'it to be stored',
    async () => {
      const headers = { 'cache-control': 'only-if-cached', range: 'bytes=0-0' }
      return (await fetchHttp(`${server.url}/large`, { host, headers })).status === 206
    },
    PROCESS_WAIT_MS,
  )
  assert.equal(await download(server, host, '/large'), BYTES)
  const part = await fetchHttp(`${server.url}/large`, { host, headers: { range: `bytes=${BYTES - 5}-` } })
  assert.deepEqual([part.status, part.text], [206, 'xxxxx'])
  assert.equal(origin.count('/large'), 1)
  assert.ok(peak - idle < 100 << 20, `${(peak - idle) >> 20} MB above the idle workers`)
})

test('a stored response is served by both workers, from L0 too, and after a restart', async (t) => {
  const origin = originOf('kept', numbered)
  const get = client(server, 'a.kept.localhost')
  const first = await get('/x')
  assert.match(String(first.headers['cache-status']), /svc-proxy; fwd=uri-miss; stored, svc-l0; fwd=uri-miss/)
  await waitFor('a hit of L0', async () => String((await get('/x')).headers['cache-status']) === 'svc-l0; hit', PROCESS_WAIT_MS)
  assert.deepEqual(await answers(get, '/x'), new Set(['1']))
  const again = await restart(t, server)
  const warm = await client(again, 'a.kept.localhost')('/x')
  assert.deepEqual([warm.text, origin.count('/x')], ['1', 1])
  assert.match(String(warm.headers['cache-status']), /svc-proxy; hit; ttl=35\d\d/)
  assert.equal(warm.headers['cache-control'], 'max-age=3600')
})

test('a worker that is killed in the middle of a fill only fails its own clients, and leaves no files behind', async (t) => {
  const gate = Promise.withResolvers<void>()
  const host = 'a.killed.localhost'
  const server = withoutL0
  const origin = originOf('killed', (_request, response, number) => {
    response.writeHead(200, { ...fresh, 'content-length': '300000' })
    response.write('x'.repeat(200_000))
    if (number === 1) void gate.promise.then(() => response.end('x'.repeat(100_000)))
    else response.end('x'.repeat(100_000))
  })
  t.after(() => gate.resolve())
  const { workers } = await statusOf(server)
  const failed = download(server, host, '/x').then(
    () => false,
    () => true,
  )
  await waitFor('the fill to begin', () => origin.count('/x') === 1, PROCESS_WAIT_MS)
  for (const { pid } of workers) process.kill(pid, 'SIGKILL')
  assert.equal(await failed, true)
  await waitFor(
    'new workers',
    async () => {
      const now = await statusOf(server)
      return now.workers.length === 2 && now.workers.every(({ pid }) => !workers.some((old) => old.pid === pid))
    },
    PROCESS_WAIT_MS,
  )
  const incoming = join(dirname(server.configFile ?? ''), 'cache/proxy/incoming')
  await waitFor(
    'what they have written to go',
    () => !existsSync(incoming) || readdirSync(incoming).length === 0,
    PROCESS_WAIT_MS,
  )
  await waitFor('an answer', async () => (await download(server, host, '/x').catch(() => 0)) === 300_000, PROCESS_WAIT_MS)
  await waitFor(
    'a hit',
    async () => {
      const { headers } = await fetchHttp(`${server.url}/x`, { host })
      return /svc-proxy; hit/.test(String(headers['cache-status']))
    },
    PROCESS_WAIT_MS,
  )
})
