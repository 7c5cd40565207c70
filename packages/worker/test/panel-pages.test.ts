import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminToml, bearer, tokenOf } from '../../auth/test/admin-users.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const PANEL_HOST = 'localhost:8080'
const pages = ['/__svc/admin', '/__svc/admin/login', '/__svc/admin/assets/panel.js', '/__svc/admin/assets/panel.css']

async function panelFor(server: PipelineServer, username: 'root' | 'tom' | 'vera') {
  return server.get('/__svc/admin', { host: PANEL_HOST, headers: { cookie: `SVC_ADMIN=${await tokenOf(username)}` } })
}

test('pages are there on hosts of the panel alone', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  for (const url of pages) {
    const elsewhere = await server.get(url, { host: 'shop.test', headers: await bearer('root') })
    assert.deepEqual([elsewhere.status, PipelineServer.codeOf(elsewhere)], [404, 'unknown_endpoint'], url)
  }
  const statuses = []
  for (const url of pages) statuses.push((await server.get(url, { host: PANEL_HOST })).status)
  assert.deepEqual(statuses, [303, 200, 200, 200])
})

test('a browser without a session is sent to the login', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const sent = await server.get('/__svc/admin', { host: PANEL_HOST })
  assert.deepEqual([sent.status, sent.headers['location']], [303, '/__svc/admin/login'])
  const ended = await tokenOf('root', { issuedAt: Date.now() - 7_200_000 })
  const expired = await server.get('/__svc/admin', { host: PANEL_HOST, headers: { cookie: `SVC_ADMIN=${ended}` } })
  assert.equal(expired.status, 303)
})

test('pages carry a strict policy, run no inline script, and are not stored', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const dashboard = await server.get('/__svc/obs/dashboard', { host: PANEL_HOST, headers: await bearer('root') })
  for (const page of [await panelFor(server, 'root'), dashboard, await server.get('/__svc/admin/login', { host: PANEL_HOST })]) {
    assert.equal(page.status, 200, page.text)
    assert.match(page.headers['content-security-policy'] ?? '', /default-src 'none'; script-src 'self'/)
    assert.doesNotMatch(page.headers['content-security-policy'] ?? '', /unsafe/)
    assert.equal(page.headers['x-frame-options'], 'DENY')
    assert.equal(page.headers['referrer-policy'], 'no-referrer')
    assert.equal(page.headers['cache-control'], 'no-store')
    assert.doesNotMatch(page.text, /<script(?![^>]* src=)|\son[a-z]+=|style=/)
  }
})

test('the dashboard offers each user the sites that it may see, as text', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const list = server.plane.sites.list
  server.plane.sites.list = () => list().map((site) => ({ ...site, id: `${site.id}<b>` }))
  const pageOf = async (user: 'root' | 'tom') =>
    (await server.get('/__svc/obs/dashboard', { host: PANEL_HOST, headers: { cookie: `SVC_ADMIN=${await tokenOf(user)}` } })).text
  assert.match(await pageOf('root'), />shop&lt;b&gt;<[\s\S]*>blog&lt;b&gt;</)
  const tom = await pageOf('tom')
  assert.match(tom, />shop&lt;b&gt;</)
  assert.doesNotMatch(tom, /blog/)
})

test('names of sites are text, and each role sees the actions that it may take on the sites that it may see', async (t) => {
  const server = await PipelineServer.start(t, [shop], adminToml)
  const list = server.plane.sites.list
  server.plane.sites.list = () =>
    list().map((site) => (site.id === 'shop' ? { ...site, hostnames: ['<script>alert(1)</script>'] } : site))
  const root = (await panelFor(server, 'root')).text
  assert.match(root, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/)
  assert.match(root, /root \(super_admin\)[\s\S]*>shop<[\s\S]*Flush isolates[\s\S]*>blog<[\s\S]*Restart render workers/)
  const tom = (await panelFor(server, 'tom')).text
  assert.match(tom, />shop<[\s\S]*Flush isolates/)
  assert.doesNotMatch(tom, />blog<|Restart render workers/)
  const vera = (await panelFor(server, 'vera')).text
  assert.match(vera, />shop<[\s\S]*>blog</)
  assert.doesNotMatch(vera, /Flush isolates|Restart render workers/)
})
