import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { L0Offer, Purge, PurgeScope } from '@svc/cache'
import type { HeaderList } from '@svc/http'
import type { MemoryResponse } from '../../engine/test/inject/index.ts'
import type { RequestContext } from '../src/request/request-context.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const HIT = 'svc-l0; hit'
const MISS = 'svc-l0; fwd=uri-miss'

const statusOf = (response: MemoryResponse) => response.headers['cache-status']

const offerOf = (server: PipelineServer, context: RequestContext, more: Partial<L0Offer> = {}): L0Offer => ({
  expiresAt: server.clock.now() + 60_000,
  label: context.site?.config.label ?? '',
  path: context.request.path,
  tags: [`route:shop:${context.request.path}`],
  seq: server.ledger.last,
  dependsOnCookies: false,
  ...more,
})

interface Answer {
  readonly status?: number
  readonly headers?: HeaderList
  readonly body?: string
  readonly offer?: Partial<L0Offer>
  /** Before or after the offer. */
  readonly withdraw?: 'before' | 'after'
}

/** Offers everything to L0. `made` counts the answers that the pipeline gave. */
function offering(server: PipelineServer, answer: Answer | ((context: RequestContext) => Answer) = {}): { made: number } {
  const counts = { made: 0 }
  server.intercept = (context) => {
    counts.made++
    const {
      status = 200,
      headers = [],
      body = 'x'.repeat(5_000),
      offer,
      withdraw,
    } = typeof answer === 'function' ? answer(context) : answer
    context.pathGroup = '/items/[id]'
    if (withdraw === 'before') context.withdrawFromL0()
    context.offerToL0(offerOf(server, context, offer))
    if (withdraw === 'after') context.withdrawFromL0()
    const type: HeaderList = [['content-type', 'text/html'], ...headers]
    context.respondCompressed({ status, headers: type }, body === '' ? undefined : Buffer.from(body))
    return 'answered'
  }
  return counts
}

/** Asks until an answer should be in L0, and then once more. */
async function third(
  server: PipelineServer,
  url = '/',
  options: Parameters<PipelineServer['get']>[1] = {},
): Promise<MemoryResponse> {
  await server.get(url, options)
  await server.get(url, options)
  return server.get(url, options)
}

const purgeOf = (number: number, ...scopes: PurgeScope[]): Purge => ({ number, layers: ['isr'], mode: 'drop', scopes })

test('L0 answers from the second request on', async (t) => {
  const server = await PipelineServer.start(t)
  const counts = offering(server)
  const answers = [await server.get('/a?q=1'), await server.get('/a?q=1'), await server.get('/a?q=1')]
  assert.deepEqual(answers.map(statusOf), [MISS, MISS, HIT])
  assert.equal(counts.made, 2)
  assert.equal(answers[2]?.text, answers[0]?.text)
  assert.equal(answers[2]?.headers['content-type'], 'text/html')
  assert.equal(statusOf(await server.get('/a?q=2')), MISS, 'another query')
  assert.equal(statusOf(await server.get('/a?q=1', { host: 'shop.test:8080' })), MISS, 'another port')
  assert.equal(statusOf(await server.get('/x/../%61?q=1')), HIT, 'the same path in another spelling')
})

test('every coding has an entry of its own, and the same field gets the same coding', async (t) => {
  const server = await PipelineServer.start(t)
  offering(server)
  for (const accept of ['br', 'gzip, deflate', 'zstd;q=1, gzip;q=0.5', 'identity', 'gzip;q=0', '*', 'br;q=0.1, gzip;q=0.2']) {
    const options = { headers: { 'accept-encoding': accept } }
    const before = await server.get('/', options)
    const after = await third(server, '/', options)
    assert.equal(statusOf(after), HIT, accept)
    assert.equal(after.headers['content-encoding'], before.headers['content-encoding'], accept)
    assert.deepEqual(after.body, before.body, accept)
    assert.equal(after.headers['vary'], before.headers['vary'], accept)
  }
})

test('HEAD and If-None-Match are answered from the entry of GET', async (t) => {
  const server = await PipelineServer.start(t)
  const counts = offering(server, {
    headers: [
      ['etag', '"v1"'],
      ['cache-control', 'public, max-age=0'],
    ],
  })
  const full = await third(server)
  const head = await server.get('/', { method: 'HEAD' })
  assert.deepEqual([head.status, statusOf(head), head.text], [200, HIT, ''])
  assert.equal(head.headers['content-length'], String(full.body.byteLength))
  for (const tags of ['"v1"', 'W/"v1"', '"v0", "v1"', '*']) {
    for (const method of ['GET', 'HEAD']) {
      const fresh = await server.get('/', { method, headers: { 'if-none-match': tags } })
      assert.deepEqual([fresh.status, statusOf(fresh), fresh.text], [304, HIT, ''], tags)
      assert.equal(fresh.headers['etag'], '"v1"')
      assert.equal(fresh.headers['cache-control'], 'public, max-age=0')
      assert.equal(fresh.headers['content-type'], undefined)
      assert.equal(fresh.headers['content-length'], undefined)
    }
  }
  const changed = await server.get('/', {
    headers: { 'if-none-match': '"v0"', 'if-modified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' },
  })
  assert.deepEqual([changed.status, statusOf(changed)], [200, HIT])
  assert.equal(counts.made, 2)
})

test('statuses without a body are answered as they were', async (t) => {
  const server = await PipelineServer.start(t)
  offering(server, ({ request }) =>
    request.path === '/none' ? { status: 204, body: '' } : { status: 308, body: '', headers: [['location', '/b']] },
  )
  const none = await third(server, '/none')
  assert.deepEqual([none.status, statusOf(none), none.headers['content-length']], [204, HIT, undefined])
  const moved = await third(server, '/a', { headers: { 'if-none-match': '*' } })
  assert.deepEqual(
    [moved.status, statusOf(moved), moved.headers['content-length'], moved.headers['location']],
    [308, HIT, '0', '/b'],
  )
})

const refusals: ReadonlyArray<readonly [why: string, answer: Answer, url?: string]> = [
  ['another status', { status: 302 }],
  ['an error', { status: 500 }],
  ['Set-Cookie', { headers: [['set-cookie', 'a=b']] }],
  ['Vary on a field', { headers: [['vary', 'cookie']] }],
  ['private', { headers: [['cache-control', 'private, max-age=60']] }],
  ['an expired lifetime', { offer: { expiresAt: 1 } }],
  ['a stage that withdrew it before', { withdraw: 'before' }],
  ['a stage that withdrew it afterwards', { withdraw: 'after' }],
  ['a body that is too large', { body: 'x'.repeat(2_000_000) }],
  ['a path that backends read differently', {}, '/a%2Fb'],
]

for (const [why, answer, url] of refusals) {
  test(`stays out of L0: ${why}`, async (t) => {
    const server = await PipelineServer.start(t)
    offering(server, answer)
    assert.equal(statusOf(await third(server, url)), MISS)
    assert.equal(server.l0.stats().l0Entries, 0)
    assert.equal(server.ledger.kept, 0)
  })
}

test('requests with credentials are neither answered from L0 nor fill it', async (t) => {
  const server = await PipelineServer.start(t)
  offering(server)
  const options = { headers: { authorization: 'Basic eDp5' } }
  assert.equal(statusOf(await third(server, '/', options)), 'svc-l0; fwd=bypass')
  assert.equal(server.l0.stats().l0Entries, 0)
  await third(server)
  assert.equal(statusOf(await server.get('/', options)), 'svc-l0; fwd=bypass')
})

test('with cookies only what no cookie changes is answered', async (t) => {
  const server = await PipelineServer.start(t)
  offering(server, ({ request }) => ({ offer: { dependsOnCookies: request.path === '/depends' } }))
  const cookie = { headers: { cookie: 'a=b' } }
  const own = { headers: { cookie: 'SVC_SID=1; SVC_ADMIN=2' } }
  assert.equal(statusOf(await third(server, '/', cookie)), HIT)
  assert.equal(statusOf(await third(server, '/depends', cookie)), MISS)
  assert.equal(server.l0.stats().l0Entries, 1)
  assert.equal(statusOf(await third(server, '/depends', own)), HIT)
  assert.equal(statusOf(await server.get('/depends', cookie)), MISS)
})

test('requests that only the pipeline can answer go there', async (t) => {
  const server = await PipelineServer.start(t)
  offering(server, { headers: [['etag', '"v1"']] })
  await third(server)
  const passed: ReadonlyArray<Parameters<PipelineServer['get']>[1]> = [
    { headers: { 'if-match': '"v0"' } },
    { headers: { 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' } },
    { headers: { 'if-modified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' } },
    { headers: { 'if-range': '"v1"', range: 'bytes=0-1' } },
    { headers: { range: 'bytes=0-1' } },
    { headers: { 'cache-control': 'max-age=0, No-Transform' } },
    { headers: { upgrade: 'websocket' } },
    { body: 'a body' },
  ]
  for (const options of passed) assert.equal(statusOf(await server.get('/', options)), MISS, JSON.stringify(options))
  assert.equal(statusOf(await server.get('/', { method: 'POST' })), 'svc-l0; fwd=method')
  assert.equal(statusOf(await server.get('/', { headers: { 'cache-control': 'no-cache', pragma: 'no-cache' } })), HIT)
})

test('an entry is never served to another site, whatever fields a proxy or a client sends', async (t) => {
  const docs = { id: 'docs', hostnames: ['docs.test'], files: { 'app/page.tsx': '' } }
  const server = await PipelineServer.start(t, [shop, docs], '[server]\ntrusted_proxies = ["10.0.0.0/8"]\n')
  offering(server, ({ site, client }) => ({ body: `${site?.config.id} ${client.scheme}`.padEnd(2000) }))
  assert.equal((await third(server)).text.trim(), 'shop http')
  const said = { headers: { 'x-forwarded-host': 'docs.test', 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' } }
  const client = await server.get('/', { ...said, remoteAddress: '192.0.2.9' })
  assert.deepEqual([client.text.trim(), statusOf(client)], ['shop http', HIT], 'a client is not believed')
  const proxied = { ...said, remoteAddress: '10.0.0.1' }
  assert.equal((await server.get('/', proxied)).text.trim(), 'docs https')
  const again = await third(server, '/', proxied)
  assert.deepEqual([again.text.trim(), statusOf(again)], ['docs https', HIT], 'a trusted proxy is')
  assert.equal(statusOf(await server.get('/', { host: 'docs.test' })), MISS, 'another scheme')
  const plain = await server.get('/', { remoteAddress: '10.0.0.1', headers: { 'x-forwarded-for': '192.0.2.1' } })
  assert.deepEqual([plain.text.trim(), statusOf(plain)], ['shop http', HIT])
  const forwarded = await server.get('/', {
    remoteAddress: '10.0.0.1',
    headers: { forwarded: 'for=192.0.2.1;host=docs.test;proto=https' },
  })
  assert.deepEqual([forwarded.text.trim(), statusOf(forwarded)], ['docs https', HIT])
})

test('a purge drops what it names, and an answer made before it does not come in', async (t) => {
  const server = await PipelineServer.start(t)
  offering(server)
  for (const path of ['/a', '/b']) await third(server, path)
  const purge = purgeOf(1, { kind: 'tags', tags: ['route:shop:/a'] })
  server.ledger.add(purge)
  assert.equal(server.l0.purge(purge), 1)
  assert.equal(statusOf(await server.get('/b')), HIT)
  offering(server, { offer: { seq: 0 } })
  assert.equal(statusOf(await third(server, '/a')), MISS, 'made of what was there before the purge')
  server.ledger.settled(1)
  offering(server, { offer: { seq: 1 } })
  assert.equal(statusOf(await third(server, '/a')), HIT)
})

test('a purge while an answer is on its way keeps it out', async (t) => {
  const server = await PipelineServer.start(t)
  const purge = purgeOf(1, { kind: 'everything' })
  server.intercept = (context) => {
    context.offerToL0(offerOf(server, context))
    if (server.ledger.last === 0) {
      server.ledger.add(purge)
      server.ledger.settled(1)
      server.l0.purge(purge)
    }
    context.respond({ status: 200, headers: [] }, Buffer.from('old'))
    return 'answered'
  }
  await server.get('/')
  await server.get('/')
  assert.equal(server.l0.stats().l0Entries, 1, 'the second was offered after the purge')
  server.intercept = (context) => {
    context.offerToL0(offerOf(server, context))
    const late = purgeOf(server.ledger.last + 1, { kind: 'everything' })
    server.ledger.add(late)
    server.ledger.settled(late.number)
    server.l0.purge(late)
    context.respond({ status: 200, headers: [] }, Buffer.from('old'))
    return 'answered'
  }
  await server.get('/other')
  await server.get('/other')
  assert.equal(server.l0.stats().l0Entries, 0)
  assert.equal(server.ledger.kept, 0, 'no fill is left in flight')
})

test('a streamed answer is kept whole, and one that the client left is not', async (t) => {
  const server = await PipelineServer.start(t)
  server.intercept = (context) => {
    context.offerToL0(offerOf(server, context))
    const writer = context.stream({ status: 200, headers: [] })
    const lent = Buffer.from('one ')
    writer.write(lent)
    lent.fill(0)
    writer.end(Buffer.from('two'))
    return 'answered'
  }
  const streamed = await third(server)
  assert.deepEqual([streamed.text, statusOf(streamed)], ['one two', HIT])
  server.intercept = (context) => {
    context.offerToL0(offerOf(server, context))
    const writer = context.stream({ status: 200, headers: [] })
    writer.write(Buffer.from('one '))
    writer.abort()
    return 'answered'
  }
  await third(server, '/cut')
  assert.equal(server.l0.stats().l0Entries, 1)
})

test('an entry ends with its freshness and grows older until then', async (t) => {
  const server = await PipelineServer.start(t)
  offering(server, {
    headers: [
      ['age', '5'],
      ['cache-control', 'public, max-age=0, s-maxage=60'],
    ],
  })
  await third(server)
  server.clock.advance(10_000)
  const older = await server.get('/')
  assert.deepEqual([older.headers['age'], older.headers['cache-control']], ['15', 'public, max-age=0, s-maxage=50'])
  server.clock.advance(50_000)
  assert.equal(statusOf(await server.get('/')), MISS)
  assert.equal(statusOf(await server.get('/')), HIT, 'what was wanted until now is kept at once')
})

test('a reload drops the entries of changed sites and of hosts that moved, and keeps the others', async (t) => {
  const wild = { id: 'wild', hostnames: ['*.test'], files: { 'app/page.tsx': '' } }
  const server = await PipelineServer.start(t, [shop, wild])
  offering(server)
  const hosts = ['shop.test', 'a.test', 'b.test']
  for (const host of hosts) await third(server, '/', { host })
  await server.reload([shop, wild, { id: 'taker', hostnames: ['b.test'], files: { 'app/page.tsx': '' } }])
  assert.deepEqual(await Promise.all(hosts.map(async (host) => statusOf(await server.get('/', { host })))), [HIT, HIT, MISS])
  await server.reload([shop, { ...wild, hostnames: ['*.test', 'more.example'] }])
  assert.deepEqual(await Promise.all(hosts.map(async (host) => statusOf(await server.get('/', { host })))), [HIT, MISS, MISS])
  await server.reload([shop], '[server]\nmax_body_bytes = 1234\n')
  assert.equal(server.l0.stats().l0Entries, 0, 'anything may be answered otherwise')
  await server.reload([shop], '[cache.l0]\nenabled = false\n')
  assert.equal(statusOf(await third(server)), undefined)
})

test('hits are counted and logged like other answers', async (t) => {
  const server = await PipelineServer.start(t, [shop], '[server]\ntrusted_proxies = ["10.0.0.0/8"]\n')
  offering(server, { headers: [['etag', '"v1"']] })
  await third(server)
  await server.get('/', { method: 'HEAD' })
  const headers = { 'if-none-match': '"v1"', 'x-forwarded-for': '192.0.2.7', 'x-request-id': 'given', 'user-agent': 'u' }
  await server.get('/?secret', { remoteAddress: '10.0.0.1', headers })
  await server.get('/', { remoteAddress: '10.0.0.1', headers })
  const requests = await server.metric('http_requests_total')
  assert.deepEqual(
    [requests['GET 200 /items/[id]'], requests['HEAD 200 /items/[id]'], requests['GET 304 /items/[id]']],
    [4, 1, 1],
  )
  assert.deepEqual(await server.metric('svc_l0_hits_total'), { '': 3 })
  assert.deepEqual(await server.metric('svc_l0_misses_total'), { '': 3 })
  assert.deepEqual(await server.metric('svc_l0_entries'), { '': 1 })
  const sizes = await server.metric('http_response_size_bytes')
  assert.equal(sizes['GET'], 5, 'the count of the histogram comes last')
  const lines = await server.accessLog()
  assert.deepEqual(
    lines.map(({ cache }) => cache),
    ['', '', 'l0-hit', 'l0-hit', '', 'l0-hit'],
  )
  const { time, duration_ms, ...last } = lines.at(-1) ?? {}
  assert.ok(typeof time === 'string' && typeof duration_ms === 'number')
  const expected = { request_id: 'given', site: 'shop', method: 'GET', path: '/', status: 304, bytes: 0, cache: 'l0-hit' }
  assert.deepEqual(last, { ...expected, client: '192.0.2.7', user_agent: 'u' })
  assert.notEqual(lines[2]?.['request_id'], lines[1]?.['request_id'])
})

test('a flood of random queries leaves a hot page in L0 and memory within its bound', async (t) => {
  const server = await PipelineServer.start(t, [shop], '[cache.l0]\nmax_bytes = 200000\n')
  offering(server, ({ request }) => ({ body: request.query === '' ? 'hot'.padEnd(5_000) : 'x'.repeat(5_000) }))
  await third(server, '/hot')
  for (let i = 0; i < 3_000; i++) {
    await server.get(`/hot?${i}`)
    if (i % 500 === 0) assert.equal(statusOf(await server.get('/hot')), HIT)
  }
  const { l0Entries } = server.l0.stats()
  assert.ok(l0Entries < 4, `${l0Entries} entries`)
  for (let i = 0; i < 300; i++) {
    for (const url of [`/hot?${i}`, `/hot?${i}`, '/hot']) await server.get(url)
    assert.ok(server.l0.stats().l0Bytes <= 200_000)
  }
  assert.equal(statusOf(await server.get('/hot')), HIT)
  assert.ok(((await server.metric('svc_l0_evictions_total'))[''] ?? 0) > 200)
})

test('a flow begins with L0: it had no response, or was not asked; a response from L0 is no flow', async (t) => {
  const server = await PipelineServer.start(t)
  offering(server, ({ request: { path } }) => ({ status: path === '/kept' ? 200 : 500 }))
  const outcomes = (path: string) =>
    server.flows
      .list({ limit: 100 })
      .filter((flow) => flow.path === path)
      .map(({ stages: [first] }) => `${first?.name} ${first?.outcome}`)
  await server.get('/plain')
  await server.get('/range', { headers: { range: 'bytes=0-1' } })
  await server.get('/guarded', { headers: { authorization: 'Basic eDp5' } })
  await server.get('/after')
  await server.get('/posted', { method: 'POST' })
  assert.deepEqual(
    ['/plain', '/range', '/guarded', '/after', '/posted'].map((path) => outcomes(path).join()),
    ['l0 miss', 'l0 miss', 'l0 skip', 'l0 miss', 'l0 skip'],
  )
  await third(server, '/kept')
  const before = server.flows.list({ limit: 100 }).length
  for (let i = 0; i < 300; i++) assert.equal(statusOf(await server.get('/kept')), HIT)
  assert.equal(server.flows.list({ limit: 100 }).length, before)
})
