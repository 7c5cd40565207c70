import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminToml, bearer, tokenOf } from '../../auth/test/admin-users.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const OUTSIDE = '192.0.2.7'
const OPEN = '/__svc/health'
const LOOPBACK = '/__svc/cache/stats'
const TENANTS = '/__svc/cache/purge-l0'
const VIEWER = '/__svc/admin/api/cache/stats'
const NOT_TENANTS = '/__svc/admin/api/workers/restart/r1'
const CHANGE = '/__svc/admin/api/isolate/flush?site_label=shop'
const SUPER = '/__svc/admin/api/workers/restart'
const post = new Set([TENANTS, CHANGE, SUPER])
const urls = [OPEN, LOOPBACK, TENANTS, VIEWER, NOT_TENANTS, CHANGE, SUPER]

const matrix: readonly [who: string, isInside: boolean, statuses: readonly number[]][] = [
  ['nobody', false, [200, 401, 401, 401, 401, 401, 401]],
  ['nobody', true, [200, 200, 200, 401, 401, 401, 401]],
  ['vera', false, [200, 403, 403, 200, 200, 403, 403]],
  ['vera', true, [200, 200, 200, 200, 200, 403, 403]],
  ['tom', false, [200, 403, 403, 200, 403, 200, 403]],
  ['root', false, [200, 200, 200, 200, 200, 200, 202]],
]

for (const [who, isInside, expected] of matrix) {
  test(`${who} from ${isInside ? 'the machine itself' : 'elsewhere'} may call what the role allows`, async (t) => {
    const server = await PipelineServer.start(t, [shop], adminToml)
    const headers = who === 'nobody' ? {} : await bearer(who as 'root')
    const from = isInside ? {} : { remoteAddress: OUTSIDE }
    const statuses = []
    for (const url of urls) {
      const { status } = await server.get(url, { method: post.has(url) ? 'POST' : 'GET', headers, ...from })
      statuses.push(status)
    }
    assert.deepEqual(statuses, expected)
  })
}

test('a token counts only while it is ours, in time, not revoked, and its user is there', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const statusOf = async (headers: Record<string, string>) => (await server.get(VIEWER, { headers })).status
  assert.equal(await statusOf(await bearer('root')), 200)
  assert.equal(await statusOf({ authorization: (await bearer('root')).authorization.replace('Bearer', 'bEARER') }), 200)
  assert.equal(await statusOf(await bearer('root', { secret: 'another secret of thirty-two bytes' })), 401)
  assert.equal(await statusOf(await bearer('root', { issuedAt: Date.now() - 7_200_000 })), 401)
  assert.equal(await statusOf(await bearer('gone')), 401)
  assert.equal(await statusOf({ authorization: 'Bearer x.y.z' }), 401)
  assert.equal(await statusOf({ authorization: `Basic ${Buffer.from('root:x').toString('base64')}` }), 401)
  const revoke = (revocations: Partial<Parameters<typeof server.revocations.add>[0]>) =>
    server.revocations.add({ tokens: [], users: [], issuedBefore: 0, ...revocations }, Date.now())
  const soon = Date.now() + 60_000
  revoke({ tokens: [{ jti: 'stolen', username: 'vera', expiresAt: soon }] })
  assert.equal(await statusOf(await bearer('root', { jti: 'stolen' })), 401)
  assert.equal(await statusOf(await bearer('root', { jti: 'other' })), 200)
  revoke({ users: [{ username: 'vera', issuedBefore: soon }] })
  assert.equal(await statusOf(await bearer('vera')), 401)
  assert.equal(await statusOf(await bearer('root', { jti: 'other' })), 200)
  revoke({ issuedBefore: soon })
  assert.equal(await statusOf(await bearer('root', { jti: 'other' })), 401)
})

test('the role of the configuration counts, not the one in the token, from the next reload on', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  // Every token here claims super_admin.
  const headers = await bearer('vera')
  assert.equal((await server.get(SUPER, { method: 'POST', headers })).status, 403)
  await server.reload([shop], adminToml.replace('role = "viewer"', 'role = "super_admin"'))
  assert.equal((await server.get(SUPER, { method: 'POST', headers })).status, 202)
  await server.reload([shop], adminToml.replaceAll('thirty-two bytes', 'thirty-two bytes or more'))
  assert.equal((await server.get(VIEWER, { headers })).status, 401, 'signed with the secret of before')
})

test('a session cookie counts on hosts of the panel alone, and changes need proof of the own page', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const cookie = `a=1; SVC_ADMIN=${await tokenOf('root')}`
  const read = async (host: string) => (await server.get(VIEWER, { host, headers: { cookie } })).status
  assert.equal(await read('localhost:8080'), 200)
  assert.equal(await read('127.0.0.1'), 200)
  assert.equal(await read('shop.test'), 401, 'the scripts of a site run there')
  const change = async (headers: Record<string, string>) => {
    const response = await server.get(SUPER, { method: 'POST', host: 'localhost:8080', headers: { cookie, ...headers } })
    return response.status === 403 ? PipelineServer.codeOf(response) : response.status
  }
  const origin = 'http://localhost:8080'
  assert.equal(await change({ origin, 'x-svc-request': '1' }), 202)
  assert.equal(await change({ origin }), 'cross_site')
  assert.equal(await change({ 'x-svc-request': '1' }), 'cross_site')
  assert.equal(await change({ origin: 'http://localhost:9090', 'x-svc-request': '1' }), 'cross_site')
  assert.equal(await change({ origin: 'null', 'x-svc-request': '1' }), 'cross_site')
})

test('a tenant_admin reaches own sites only', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const headers = { ...(await bearer('tom')), 'content-type': 'application/json' }
  const call = (url: string, body = '{}') => server.get(url, { method: 'POST', headers, body, remoteAddress: OUTSIDE })
  const own = await call(TENANTS, '{"host":"shop.test"}')
  assert.equal(own.status, 200, own.text)
  assert.deepEqual(server.plane.orders.at(-1)?.labels, ['shop'])
  const count = server.plane.orders.length
  const other = await call(TENANTS, '{"host":"blog.test"}')
  assert.deepEqual([other.status, PipelineServer.codeOf(other)], [404, 'unknown_host'])
  for (const site of ['blog', 'nothing']) {
    const flush = await call(`/__svc/api/sites/${site}/isolate/flush`)
    assert.deepEqual([flush.status, PipelineServer.codeOf(flush)], [404, 'unknown_site'])
  }
  assert.equal((await call('/__svc/admin/api/isolate/flush?site_label=blog')).status, 404)
  assert.equal(server.plane.orders.length, count)
})

test('a token of ours is answered by the server, where the site defines the path and when it counts no more', async (t) => {
  const files = { ...shop.files, 'app/metrics/route.ts': '', 'app/compat-cache/purge-app/route.ts': '' }
  const server = await PipelineServer.start(t, [{ ...shop, files }], adminToml)
  const metrics = async (headers: Record<string, string>) => server.get('/metrics', { headers, remoteAddress: OUTSIDE })
  assert.match((await metrics({})).text, /^handler/)
  assert.match((await metrics({ authorization: 'Bearer of.the.site' })).text, /^handler/)
  assert.equal((await metrics(await bearer('vera'))).text, 'all_metrics 1\n')
  const ended = await server.get('/compat-cache/purge-app', {
    method: 'POST',
    headers: await bearer('root', { issuedAt: Date.now() - 7_200_000 }),
    remoteAddress: OUTSIDE,
  })
  assert.deepEqual([ended.status, PipelineServer.codeOf(ended)], [401, 'unauthorized'])
  assert.equal(server.renderer.requests.length, 2)
})

test('refusals come in the order of the specification: method, credentials, role, size, type, body', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const asked = async (method: string, headers: Record<string, string>, body = '{') =>
    (await server.get(SUPER, { method, headers, body, remoteAddress: OUTSIDE })).status
  const wrongType = { 'content-type': 'text/plain' }
  assert.equal(await asked('PUT', wrongType), 405)
  assert.equal(await asked('POST', wrongType), 401)
  assert.equal(await asked('POST', { ...wrongType, ...(await bearer('vera')) }), 403)
  assert.equal(await asked('POST', { ...wrongType, ...(await bearer('root')) }, 'x'.repeat(1024 * 1024 + 1)), 413)
  assert.equal(await asked('POST', { ...wrongType, ...(await bearer('root')) }), 415)
  assert.equal(await asked('POST', { 'content-type': 'application/json', ...(await bearer('root')) }), 400)
})

test('changes and denied attempts are recorded, without secrets; reading is not', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  await server.get(VIEWER, { headers: await bearer('vera') })
  await server.get(CHANGE, { method: 'POST', headers: await bearer('root'), remoteAddress: OUTSIDE })
  await server.get(SUPER, { method: 'POST', remoteAddress: OUTSIDE })
  await server.get(NOT_TENANTS, { headers: await bearer('tom') })
  server.plane.renderers.restart = () => Promise.reject(new Error('inner reason'))
  await server.get(SUPER, { method: 'POST', headers: await bearer('root') })
  const shown = server.plane.records.map(({ username, address, action, target, result }) => ({
    username,
    address,
    action,
    target,
    result,
  }))
  const restart = 'POST /__svc/admin/api/workers/restart'
  assert.deepEqual(shown, [
    { username: 'root', address: OUTSIDE, action: CHANGE_ACTION, target: '{"site_label":"shop"}', result: 'ok' },
    { username: '', address: OUTSIDE, action: restart, target: '{}', result: 'denied' },
    {
      username: 'tom',
      address: '127.0.0.1',
      action: 'GET /__svc/admin/api/workers/restart/:id',
      target: '{"id":"r1"}',
      result: 'denied',
    },
    { username: 'root', address: '127.0.0.1', action: restart, target: '{}', result: 'failed' },
  ])
  assert.doesNotMatch(JSON.stringify(server.plane.records), /inner reason/)
})

const CHANGE_ACTION = 'POST /__svc/admin/api/isolate/flush'

test('a client that is denied all the time fills the audit log no faster than ten records a second', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const startedAt = performance.now()
  for (let index = 0; index < 100; index++) await server.get(SUPER, { method: 'POST', remoteAddress: OUTSIDE })
  const seconds = Math.ceil((performance.now() - startedAt) / 1000) + 1
  assert.ok(server.plane.records.length <= 10 * seconds, `${server.plane.records.length} in ${seconds} s`)
})

test('malformed changes by users are recorded, as slowly as denied ones; malformed logins and reads are not', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const send = async (path: string, body: string, headers: Record<string, string>) =>
    (await server.get(`/__svc/admin/api/${path}`, { method: 'POST', headers, body })).status
  const json = { 'content-type': 'application/json' }
  const root = { ...(await bearer('root')), ...json }
  assert.equal(await send('deploys', '{"site":', root), 400)
  assert.equal(await send('deploys', '{"site":"shop","source":"/x","colour":1}', root), 400)
  assert.equal(await send('deploys', '{}', { ...root, 'content-type': 'text/plain' }), 415)
  assert.equal(await send('login', '{"username":', json), 400)
  assert.equal((await server.get('/__svc/admin/api/cache/entries?colour=1', { headers: await bearer('root') })).status, 400)
  const action = 'POST /__svc/admin/api/deploys'
  const failed = { username: 'root', action, target: '{}', result: 'failed' }
  assert.deepEqual(
    server.plane.records.map(({ username, action: act, target, result }) => ({ username, action: act, target, result })),
    [failed, failed, failed],
  )
  assert.match(server.plane.records[1]?.detail ?? '', /colour/)
  const startedAt = performance.now()
  for (let index = 0; index < 100; index++) await send('deploys', '{', root)
  const seconds = Math.ceil((performance.now() - startedAt) / 1000) + 1
  assert.ok(server.plane.records.length <= 3 + 10 * seconds, `${server.plane.records.length} in ${seconds} s`)
})
