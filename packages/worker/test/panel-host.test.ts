import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { adminToml } from '../../auth/test/admin-users.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const files = { ...shop.files, 'public/a.txt': 'of the site', 'public/health': 'of the site', 'public/index.html': 'of the site' }
const site = { ...shop, files }
const panelHosts = ['localhost:8080', '127.0.0.1', '[::1]:8080', '192.0.2.1', 'x.localhost']

test('no site answers on a host of the panel, not even the first one', async (t) => {
  const server = await PipelineServer.start(t, [site], adminToml)
  for (const host of panelHosts) {
    const home = await server.get('/', { host })
    assert.deepEqual([home.status, home.headers['location']], [302, '/__svc/admin'], host)
    for (const [url, method] of [['/a.txt'], ['/items/1'], ['/', 'POST'], ['/%2e%2e/a.txt']] as const) {
      const { status, text } = await server.get(url, { host, ...(method === undefined ? {} : { method }) })
      assert.equal(status, 404, `${host}${url}`)
      assert.match(text, /admin panel/)
    }
    const health = await server.get('/health', { host })
    assert.deepEqual(
      [health.status, JSON.parse(health.text)],
      [200, { status: 'ok' }],
      'the service answers, whatever the site defines',
    )
  }
  assert.deepEqual(server.renderer.requests, [])
  for (const host of ['shop.test', 'unknown.test']) {
    assert.equal((await server.get('/a.txt', { host })).text, 'of the site', host)
    assert.equal((await server.get('/health', { host })).text, 'of the site', host)
  }
})

test("a host that a site claims, and every host while the panel is off, is the site's", async (t) => {
  const claimed = await PipelineServer.start(t, [{ ...site, hostnames: ['localhost'] }], adminToml)
  assert.equal((await claimed.get('/a.txt', { host: 'localhost' })).text, 'of the site')
  assert.equal((await claimed.get('/a.txt', { host: '127.0.0.1' })).status, 404)
  const off = await PipelineServer.start(t, [site], adminToml.replace('enabled = true', 'enabled = false'))
  for (const host of panelHosts) assert.equal((await off.get('/a.txt', { host })).text, 'of the site', host)
})

test('a host that becomes one of the panel shows nothing that a site answered there before', async (t) => {
  const withHosts = (hosts: string) => adminToml.replace('enabled = true', `enabled = true\nhosts = ${hosts}`)
  const server = await PipelineServer.start(t, [site], withHosts('["other.test"]'))
  const get = () => server.get('/a.txt', { host: 'panel.test' })
  await waitFor('a hit of L0', async () => (await get()).headers['cache-status'] === 'svc-l0; hit')
  // The files are there, and stay as they are.
  await server.reload([{ ...site, files: {} }], withHosts('["panel.test"]'))
  assert.equal((await get()).status, 404)
})
