import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp } from '@svc/testkit'
import { adminToml, bearer } from '../../auth/test/admin-users.ts'
import type { InjectOptions } from '../../engine/test/inject/index.ts'
import { type EngineName, engines, startEngine } from '../../engine/test/start-engine.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const PURGE_L0 = '/__svc/cache/purge-l0'
const PURGE = '/__svc/admin/api/cache/purge?pattern=*'
const withAdmin = adminToml
const json = { 'content-type': 'application/json' }

function post(server: PipelineServer, url: string, body?: string, more: Omit<InjectOptions, 'url'> = {}) {
  const headers = { ...(body === undefined ? {} : json), ...more.headers }
  return server.get(url, { method: 'POST', ...(body === undefined ? {} : { body }), ...more, headers })
}

const foreign: readonly [why: string, request: Omit<InjectOptions, 'url'>, config: string][] = [
  ['another host', { remoteAddress: '192.0.2.7' }, ''],
  ['a name that no site has', { host: 'rebound.test' }, ''],
  ['a forwarding field', { headers: { 'x-forwarded-for': '127.0.0.1' } }, ''],
  ['a service that came round', { headers: { 'cdn-loop': 'svc;one' } }, ''],
  ['a foreign origin', { headers: { origin: 'http://evil.test' } }, ''],
  ['a cross-site request', { headers: { 'sec-fetch-site': 'cross-site' } }, ''],
  ['loopback that is not trusted', {}, '[server]\nloopback_trust = false\n'],
  ['a trusted proxy on this host', {}, '[server]\ntrusted_proxies = ["127.0.0.0/8"]\n'],
]

for (const [why, request, config] of foreign) {
  test(`endpoints of the host itself answer 401, and do nothing: ${why}`, async (t) => {
    const server = await PipelineServer.start(t, [shop], `${config}${withAdmin}`)
    for (const url of [PURGE_L0, PURGE, '/__svc/api/sites/shop/isolate/flush', '/__svc/admin/api/workers/restart']) {
      const response = await post(server, url, undefined, request)
      assert.equal(response.status, 401, url)
      assert.equal(response.headers['www-authenticate'], 'Bearer')
      assert.equal(PipelineServer.codeOf(response), 'unauthorized')
    }
    assert.equal((await server.get('/__svc/debug/router', request)).status, 401)
    assert.equal((await server.get('/__svc/health', request)).status, 200, 'open ones stay open')
    assert.deepEqual([server.plane.orders, server.plane.calls], [[], []])
  })
}

test('from the host itself they answer, and only below their own names', async (t) => {
  const server = await PipelineServer.start(t, [shop], withAdmin)
  for (const host of ['shop.test', 'localhost:8080', '127.0.0.1', '[::1]:80']) {
    const response = await post(server, PURGE_L0, undefined, { host })
    assert.equal(response.status, 200, response.text)
    const { ok, layer, purged } = JSON.parse(response.text)
    assert.deepEqual([ok, layer, purged], [true, 'l0', 3])
    assert.equal(response.headers['cache-control'], 'no-store')
  }
  assert.equal((await post(server, PURGE, undefined, { headers: await bearer('root') })).status, 200)
  assert.equal((await server.get(PURGE_L0)).headers['allow'], 'POST')
  assert.equal((await server.get('/__svc/cache/stats', { method: 'HEAD' })).status, 200)
  assert.deepEqual(server.renderer.requests, [])
})

test('disabled groups are 404 for every client', async (t) => {
  const server = await PipelineServer.start(t, [shop], '[endpoints]\napi = false\nadmin = false\n')
  assert.equal(PipelineServer.codeOf(await post(server, '/__svc/api/reload')), 'unknown_endpoint')
  assert.equal(PipelineServer.codeOf(await post(server, PURGE)), 'unknown_endpoint')
})

test('a body that is not what is declared is refused by name, and nothing is done', async (t) => {
  const server = await PipelineServer.start(t)
  const cases: [body: string, type: string, status: number, code: string, paths: string[]][] = [
    ['{', 'application/json', 400, 'invalid_request', ['']],
    ['[]', 'application/json', 400, 'invalid_request', ['']],
    ['\u0000', 'application/json', 400, 'invalid_request', ['']],
    ['{"path":["/a"]}', 'application/json', 400, 'invalid_request', ['path']],
    ['{"paths":"/a","host":1}', 'application/json; charset=utf-8', 400, 'invalid_request', ['paths', 'host']],
    ['{"paths":["a"]}', 'application/json', 400, 'invalid_request', ['paths[0]']],
    ['paths=/a', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type', []],
    ['{}', 'text/plain', 415, 'unsupported_media_type', []],
  ]
  for (const [body, type, status, code, paths] of cases) {
    const response = await post(server, PURGE_L0, body, { headers: { 'content-type': type } })
    assert.equal(response.status, status, body)
    assert.equal(PipelineServer.codeOf(response), code)
    const errors: { readonly path: string }[] = JSON.parse(response.text).errors ?? []
    assert.deepEqual(
      errors.map(({ path }) => path),
      paths,
    )
  }
  const missing = await post(server, '/__svc/cache/purge-proxy')
  assert.deepEqual(JSON.parse(missing.text).errors, [{ path: 'host', message: 'is missing' }])
  assert.deepEqual(server.plane.orders, [])
})

test('a body of more than 1 MiB is rejected, with and without a declared length', async (t) => {
  const server = await PipelineServer.start(t)
  const big = JSON.stringify({ paths: ['/'.padEnd(1024 * 1024, 'x')] })
  const declared = await post(server, PURGE_L0, big)
  assert.deepEqual([declared.status, PipelineServer.codeOf(declared)], [413, 'body_too_large'])
  const chunks = [Buffer.from(big.slice(0, 600_000)), Buffer.from(big.slice(600_000))]
  const chunked = await server.get(PURGE_L0, { method: 'POST', headers: json, body: chunks })
  assert.equal(chunked.status, 413)
  assert.deepEqual(server.plane.orders, [])
})

test('no body and an empty object mean the same, with or without a content type', async (t) => {
  const server = await PipelineServer.start(t)
  await post(server, PURGE_L0)
  await post(server, PURGE_L0, '{}')
  await post(server, PURGE_L0, '', { headers: { 'content-type': 'text/plain' } })
  assert.deepEqual(
    server.plane.orders.map(({ scopes }) => scopes),
    [[{ kind: 'everything' }], [{ kind: 'everything' }], [{ kind: 'everything' }]],
  )
})

test('paths of an L0 purge belong to the site that is asked, or to every host where none is', async (t) => {
  const wild = { id: 'wild', hostnames: ['*.wild.test', 'wild.test'], files: { 'app/page.tsx': '' } }
  const server = await PipelineServer.start(t, [shop, wild])
  const hostsFor = async (host: string) => {
    const response = await post(server, PURGE_L0, '{"paths":["/a"]}', { host })
    assert.equal(response.status, 200, response.text)
    const scope = server.plane.orders.at(-1)?.scopes[0]
    return scope?.kind === 'paths' ? scope.hosts : undefined
  }
  // The fake plane answers for shop.test alone; the worker's own is tested with the function behind it.
  assert.deepEqual(await hostsFor('shop.test'), ['shop.test', 'www.shop.test'])
  assert.equal(await hostsFor('127.0.0.1:8080'), null)
})

test('the path of an app reset is the site’s for everybody but the host itself', async (t) => {
  const files = { ...shop.files, 'app/[...all]/page.tsx': '', 'app/compat-cache/purge-app/route.ts': '' }
  const server = await PipelineServer.start(t, [{ ...shop, files }])
  const body = '{"app_root":"/srv/shop/app"}'
  const outside = await post(server, '/compat-cache/purge-app', body, { remoteAddress: '192.0.2.7' })
  assert.match(outside.text, /^handler handler:\/compat-cache\/purge-app/)
  const inside = await post(server, '/compat-cache/purge-app', body)
  assert.equal(JSON.parse(inside.text).layer, 'app')
  const unknown = await post(server, '/compat-cache/purge-app', '{"app_root":"/srv/none"}')
  assert.deepEqual([unknown.status, PipelineServer.codeOf(unknown)], [404, 'unknown_app_root'])
})

test('GET of the path of an app reset is the site’s for the host itself too', async (t) => {
  const files = { ...shop.files, 'app/[...all]/page.tsx': '', 'app/compat-cache/purge-app/route.ts': '' }
  const server = await PipelineServer.start(t, [{ ...shop, files }])
  assert.match((await server.get('/compat-cache/purge-app')).text, /^handler handler:\/compat-cache\/purge-app/)
})

for (const engine of Object.keys(engines) as EngineName[]) {
  test(`waiting for a restart may take longer than a page may, on engine ${engine}`, async (t) => {
    const server = await PipelineServer.start(t, [shop], withAdmin)
    const asked = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    server.plane.renderers.restartStatus = async (id) => {
      asked.resolve()
      await ended.promise
      return { id, state: 'done', replaced: 2, total: 2 }
    }
    server.intercept = () => new Promise(() => undefined)
    const { port } = await startEngine(t, engine, server.handler, { requestTimeoutMs: 50 })
    const url = `http://127.0.0.1:${port}`
    const waiting = fetchHttp(`${url}/__svc/admin/api/workers/restart?wait=1`, {
      method: 'POST',
      headers: await bearer('root'),
    })
    await asked.promise
    // A page that was asked for later has run into the limit, so the restart is past it.
    assert.equal((await fetchHttp(`${url}/`, { host: 'shop.test' })).status, 504)
    ended.resolve()
    const answer = await waiting
    assert.deepEqual([answer.status, JSON.parse(answer.text).state], [200, 'done'])
  })
}

test('a refusal of the master is shown; its internal errors are not', async (t) => {
  const server = await PipelineServer.start(t)
  const { plane } = server
  const { AppError } = await import('@svc/core')
  plane.purges.purge = () => Promise.reject(new AppError('SUP_BAD_PURGE', '"/%" is not a path', { status: 400, exposable: true }))
  const refused = await post(server, PURGE_L0, '{"paths":["/%"]}')
  assert.deepEqual([refused.status, JSON.parse(refused.text).detail], [400, '"/%" is not a path'])
  plane.purges.purge = () => Promise.reject(new Error('secret reason'))
  const failed = await post(server, PURGE_L0)
  assert.equal(failed.status, 500)
  assert.doesNotMatch(failed.text, /secret/)
})
