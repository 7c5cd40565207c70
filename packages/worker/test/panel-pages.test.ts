import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { adminToml, bearer, tokenOf } from '../../auth/test/admin-users.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const PANEL_HOST = 'localhost:8080'
const manifest = JSON.parse(readFileSync(new URL('../../../dist/panel/manifest.json', import.meta.url), 'utf8'))
const at = (name: string) => `/__svc/admin/assets/${name}`
const pages = [
  '/__svc/admin',
  '/__svc/admin/sites',
  '/__svc/admin/login',
  at(manifest.script),
  at(manifest.style),
  at(manifest.icon),
]

async function panelFor(server: PipelineServer, username: 'root' | 'tom' | 'vera', path = '/__svc/admin') {
  return server.get(path, { host: PANEL_HOST, headers: { cookie: `SVC_ADMIN=${await tokenOf(username)}` } })
}

test('pages are there on hosts of the panel alone', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  for (const url of pages) {
    const elsewhere = await server.get(url, { host: 'shop.test', headers: await bearer('root') })
    assert.deepEqual([elsewhere.status, PipelineServer.codeOf(elsewhere)], [404, 'unknown_endpoint'], url)
  }
  const statuses = []
  for (const url of pages) statuses.push((await server.get(url, { host: PANEL_HOST })).status)
  assert.deepEqual(statuses, [303, 303, 200, 200, 200, 200])
})

test('a browser without a session is sent to the login, and told its page', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const toLogin = async (path: string, cookie = '') => {
    const { status, headers } = await server.get(path, { host: PANEL_HOST, headers: { cookie } })
    return [status, headers['location']]
  }
  assert.deepEqual(await toLogin('/__svc/admin'), [303, '/__svc/admin/login'])
  const next = encodeURIComponent('/__svc/admin/site?id=shop&tab=routes')
  assert.deepEqual(await toLogin('/__svc/admin/site?id=shop&tab=routes'), [303, `/__svc/admin/login?next=${next}`])
  const ended = await tokenOf('root', { issuedAt: Date.now() - 7_200_000 })
  assert.deepEqual(await toLogin('/__svc/admin', `SVC_ADMIN=${ended}`), [303, '/__svc/admin/login'])
})

test('a page names the scripts that it needs, and the login those of the page after it', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const scriptsOf = async (path: string) => {
    const { text } = await panelFor(server, 'root', path)
    return [...text.matchAll(/<link rel="modulepreload" href="([^"]*)">/g)].map(([, href]) => href)
  }
  const needed = (path: string) => [...manifest.preload, ...manifest.pages[path]].map(at)
  for (const path of Object.keys(manifest.pages)) assert.deepEqual(await scriptsOf(path), needed(path), path)
  const overview = needed('/__svc/admin')
  assert.notDeepEqual(overview, needed('/__svc/admin/sites'))
  assert.deepEqual(await scriptsOf('/__svc/admin/login'), overview)
  const next = (path: string) => scriptsOf(`/__svc/admin/login?${new URLSearchParams({ next: path })}`)
  assert.deepEqual(await next('/__svc/admin/sites?q=a#b'), needed('/__svc/admin/sites'))
  for (const hostile of ['https://evil.test/', '//evil.test', '__proto__', 'constructor', '/__svc/admin/none']) {
    assert.deepEqual(await next(hostile), overview, hostile)
  }
})

test('pages carry a strict policy, run no inline script, and are not stored', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const dashboard = await server.get('/__svc/obs/dashboard', { host: PANEL_HOST, headers: await bearer('root') })
  for (const page of [await panelFor(server, 'root'), dashboard, await server.get('/__svc/admin/login', { host: PANEL_HOST })]) {
    assert.equal(page.status, 200, page.text)
    assert.match(page.headers['content-security-policy'] ?? '', /default-src 'none'; script-src 'self'/)
    assert.match(page.headers['content-security-policy'] ?? '', /require-trusted-types-for 'script'/)
    assert.doesNotMatch(page.headers['content-security-policy'] ?? '', /unsafe/)
    assert.equal(page.headers['x-frame-options'], 'DENY')
    assert.equal(page.headers['referrer-policy'], 'no-referrer')
    assert.equal(page.headers['cache-control'], 'no-store')
    assert.doesNotMatch(page.text, /<script(?![^>]* src=)|\son[a-z]+=|style=/)
  }
})

test('a page that the panel does not have is 404, and any query of one that it has is its own', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const unknown = await panelFor(server, 'vera', '/__svc/admin/no-such-page')
  assert.deepEqual([unknown.status, PipelineServer.codeOf(unknown)], [404, 'unknown_page'])
  assert.equal((await panelFor(server, 'vera', '/__svc/admin/sites?q=%22%3Cb%3E&other=1')).status, 200)
})

test('a page names its user as text', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const { text } = await panelFor(server, 'tom')
  const [, named = ''] = /data-user="([^"]*)"/.exec(text) ?? []
  const user = { username: 'tom', role: 'tenant_admin', tenant_id: 'acme' }
  assert.deepEqual(JSON.parse(named.replaceAll('&quot;', '"')), user)
  const login = await server.get('/__svc/admin/login', { host: PANEL_HOST })
  assert.match(login.text, /data-user=""/)
})

test('a file of the panel is kept for ever, in the coding that the client likes, and has its name as validator', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const get = (coding: string, more = {}) =>
    server.get(at(manifest.script), { host: PANEL_HOST, headers: { 'accept-encoding': coding, ...more } })
  const plain = await get('identity')
  assert.equal(plain.headers['content-encoding'], undefined)
  for (const [coding, decode] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const coded = await get(coding)
    assert.deepEqual([coded.status, coded.headers['content-encoding']], [200, coding])
    assert.equal(decode(coded.body).toString(), plain.text)
    assert.equal(coded.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(coded.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(coded.headers['vary'], 'accept-encoding')
    assert.notEqual(coded.headers['etag'], plain.headers['etag'])
    const again = await get(coding, { 'if-none-match': coded.headers['etag'] ?? '' })
    assert.deepEqual([again.status, again.text], [304, ''])
  }
  const missing = await server.get(at('manifest.json'), { host: PANEL_HOST })
  assert.deepEqual([missing.status, PipelineServer.codeOf(missing)], [404, 'unknown_asset'])
})

test('pages of the list of a thousand sites are compressed for a client that takes it, and have less than 100 KB before', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const [site] = server.plane.sites.list()
  const ids = Array.from({ length: 1000 }, (_, index) => `customer-${index * 7919}`)
  server.plane.sites.list = () =>
    ids.map((id) => ({ ...(site as NonNullable<typeof site>), id, label: id, hostnames: [`${id}.test`, `www.${id}.test`] }))
  const get = async (coding: string, cursor = '') =>
    server.get(`/__svc/admin/api/sites${cursor}`, {
      host: PANEL_HOST,
      headers: { 'accept-encoding': coding, cookie: `SVC_ADMIN=${await tokenOf('root')}` },
    })
  const compressed = await get('br')
  assert.deepEqual([compressed.status, compressed.headers['content-encoding']], [200, 'br'])
  const listed: string[] = []
  let next: string | null = ''
  for (let page = compressed; next !== null; page = await get('br', `?cursor=${next}`)) {
    const whole = brotliDecompressSync(page.body)
    assert.ok(whole.byteLength < 100 * 1024 && page.body.byteLength < whole.byteLength / 5, `${page.body.byteLength} bytes`)
    const { sites, cursor } = JSON.parse(whole.toString()) as { sites: { id: string }[]; cursor: string | null }
    listed.push(...sites.map(({ id }) => id))
    next = cursor
    if (next === null) break
  }
  assert.deepEqual(listed, ids)
  assert.equal((await get('identity')).headers['content-encoding'], undefined)
})
