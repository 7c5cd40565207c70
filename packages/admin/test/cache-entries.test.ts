import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, machine, type User } from '@svc/auth'
import { planeOfTenant } from '../src/index.ts'
import { callEndpoint } from './call-endpoint.ts'
import { FakePlane, stored } from './fake-plane.ts'

const ADMIN = '/__svc/admin/api'
const key = Buffer.from(`isr:${stored.key}`).toString('base64url')
const get = (path: string, more: { plane?: FakePlane; caller?: Caller } = {}) => callEndpoint(path, { method: 'GET', ...more })

function userOf(role: User['role']): Caller {
  const user: User = { username: role, role, tenantId: role === 'tenant_admin' ? 'acme' : undefined }
  return { kind: 'user', user, jti: '1', expiresAt: 0, by: 'bearer' }
}

const shown = {
  key,
  layer: 'isr',
  site: 'shop',
  host: null,
  path: '/a',
  query: null,
  tags: ['route:shop:/a'],
  status: 200,
  bytes: 100,
  stored_at: '2026-01-01T00:00:00.000Z',
  fresh_until: null,
  stale_until: null,
  hits: 3,
}

test('stored responses are listed by layer, site, tag and prefix', async () => {
  for (const path of [`${ADMIN}/cache/entries`, '/__svc/obs/cache']) {
    const all = await get(path)
    assert.deepEqual(all.json, { ok: true, entries: [shown], cursor: '0.abc', is_partial: false, missing: [] })
    const none = { labels: undefined, tag: undefined, prefix: undefined, cursor: undefined }
    assert.deepEqual(all.plane.calls, [{ list: { layer: 'isr', limit: 100, ...none } }])
    assert.equal((await get(`${path}?cursor=made-up`)).problem?.code, 'bad_cursor')
    const some = await get(`${path}?layer=proxy&site=blog-old&tag=news&prefix=/b&limit=7&cursor=1.x`)
    const query = { layer: 'proxy', labels: ['blog'], tag: 'news', prefix: '/b', limit: 7, cursor: '1.x' }
    assert.deepEqual(some.plane.calls, [{ list: query }])
    assert.equal((await get(`${path}?site=gone`)).problem?.code, 'unknown_site')
  }
})

test('an entry is shown by its key, in either group', async () => {
  assert.deepEqual((await get(`${ADMIN}/cache/entries/${key}`)).json, { ok: true, ...shown, tag_count: 1 })
  assert.deepEqual((await get(`/__svc/obs/cache/entry?layer=isr&key=${key}`)).json, { ok: true, ...shown, tag_count: 1 })
  const unknown = [`${ADMIN}/cache/entries/xyz`, `/__svc/obs/cache/entry?layer=proxy&key=${key}`, `${ADMIN}/cache/entries/%00`]
  for (const path of unknown) {
    const { status, problem } = await get(path)
    assert.deepEqual([status, problem?.code], [404, 'unknown_entry'], path)
  }
})

test('a body is for those who administer the site, is cut at 1 MiB, and bytes that are no text are encoded', async () => {
  const path = `${ADMIN}/cache/entries/${key}?body=1`
  for (const caller of [userOf('viewer'), machine]) assert.equal((await get(path, { caller })).problem?.code, 'forbidden')
  const text = await get(path, { caller: userOf('tenant_admin') })
  assert.deepEqual(text.json['body'], { encoding: 'utf8', data: '<p>é</p>', is_cut: false })
  const start = await get(`${path}&body_bytes=3`, { caller: userOf('tenant_admin') })
  assert.deepEqual(start.json['body'], { encoding: 'utf8', data: '<p>', is_cut: true })
  const plane = new FakePlane()
  plane.body = Buffer.alloc(2 * 1024 * 1024, 0xff)
  const bytes = (await get(path, { plane, caller: userOf('super_admin') })).json['body'] as Record<string, unknown>
  assert.deepEqual([bytes['encoding'], bytes['is_cut']], ['base64', true])
  assert.equal(Buffer.from(String(bytes['data']), 'base64').byteLength, 1024 * 1024)
})

test('a dropped entry goes with its variants, and no entry of another label', async () => {
  const { plane, json } = await callEndpoint(`${ADMIN}/cache/entries/${key}`, { method: 'DELETE' })
  const scopes = [{ kind: 'paths', paths: ['/a'], hosts: null }]
  assert.deepEqual(plane.orders, [{ layers: ['isr'], scopes, mode: 'drop', labels: ['shop'] }])
  assert.deepEqual([json['layer'], json['purged'], json['scope']], ['isr', 2, { key }])
})

test('a tenant finds only entries of its own sites', async () => {
  const other = planeOfTenant(new FakePlane(), 'nobody') as FakePlane
  const caller = userOf('tenant_admin')
  for (const path of [`${ADMIN}/cache/entries/${key}`, `${ADMIN}/cache/entries/${key}?body=1`]) {
    assert.equal((await get(path, { plane: other, caller })).problem?.code, 'unknown_entry')
  }
  assert.equal((await callEndpoint(`${ADMIN}/cache/entries/${key}`, { method: 'DELETE', plane: other })).status, 404)
  const plane = new FakePlane()
  await get(`${ADMIN}/cache/entries`, { plane: planeOfTenant(plane, 'acme') as FakePlane })
  assert.deepEqual((plane.calls[0] as { list: { labels: string[] } }).list.labels, ['shop'])
})

test('pages are queued to be rendered, normalised, and only for a site that has pages', async () => {
  const paths = ['/a/../b?q=1', '/c']
  const { status, json, plane } = await callEndpoint(`${ADMIN}/cache/warm`, { body: { site: 'shop', paths } })
  assert.deepEqual([status, json], [202, { ok: true, queued: 2 }])
  const pages = [
    { site: 'shop', path: '/b', query: 'q=1' },
    { site: 'shop', path: '/c', query: '' },
  ]
  assert.deepEqual(plane.calls, [{ render: pages }])
  assert.equal((await callEndpoint(`${ADMIN}/cache/warm`, { body: { site: 'gone', paths } })).problem?.code, 'unknown_site')
})

test('a preview counts the entries of a whole path or tag by layer, a bounded number of them', async () => {
  const plane = new FakePlane()
  const { json } = await get(`${ADMIN}/cache/count?site=shop&path=/a`, { plane })
  // The fake always has another page.
  assert.deepEqual(json['isr'], { entries: 1, bytes: 100, is_partial: true })
  const lists = plane.calls.filter((call) => 'list' in (call as object)) as { list: Record<string, unknown> }[]
  assert.equal(lists.length, 60)
  assert.partialDeepStrictEqual(lists[0]?.list, { layer: 'isr', labels: ['shop'], prefix: '/a', limit: 500 })
  const other = await get(`${ADMIN}/cache/count?path=/`)
  assert.deepEqual(other.json['proxy'], { entries: 0, bytes: 0, is_partial: true })
  assert.equal((await get(`${ADMIN}/cache/count?site=gone`)).problem?.code, 'unknown_site')
})
