// Starts first: each test starts a server and units.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, startLoad, waitFor } from '@svc/testkit'
import { client, restart } from './backend.ts'
import { runDirOf } from './control.ts'
import { kept, openOwnSite } from './own-site-server.ts'
import { attachUnit, renderHostOf, siteState, startUnit, wellOrSoon } from './site-unit.ts'

test('while its unit is away a site answers from what is stored, else 503; its neighbour does not notice', async (t) => {
  // Also how long a request waits for the unit of its site.
  const { server, get, two } = await openOwnSite(t, { workers: 2, more: '[render]\ntimeout_ms = 4000\n' })
  const away = await get('/')
  assert.equal(away.status, 503)
  assert.match(String(away.headers['retry-after']), /^\d+$/)
  await waitFor(
    'what to do',
    () => server.child.stderr.includes(`start this site's process with \\"svc serve --site one\\"`),
    PROCESS_WAIT_MS,
  )
  await siteState(server, 'one', 'degraded')
  const health = await fetchHttp(`${server.url}/__svc/health`)
  assert.deepEqual([health.status, JSON.parse(health.text).checks.render_pool], [503, 'degraded: no process serves one'])
  assert.equal((await two('/')).status, 200)

  const unit = await attachUnit(t, server, 'one')
  assert.match((await get('/kept')).text, /first/)
  await unit.child.kill()
  await siteState(server, 'one', 'degraded')
  for (let i = 0; i < 4; i++) assert.match((await get('/kept')).text, /first/)
  await startUnit(t, runDirOf(server), 'one')
  await waitFor('the site to be back', async () => (await get('/')).status === 200, PROCESS_WAIT_MS)
  assert.equal((await two('/')).status, 200)
})

test('a unit that is restarted fails no request for good, and shows the code that has changed meanwhile', async (t) => {
  const { root, server, get } = await openOwnSite(t, { workers: 2 })
  const unit = await attachUnit(t, server, 'one')
  assert.match((await get('/kept')).text, /first/)
  const load = startLoad(t, { url: `${server.url}/`, host: 'one.localhost', keepAlive: 3, fresh: 1, check: wellOrSoon })
  await waitFor('some load', () => load.done() > 100, PROCESS_WAIT_MS)
  assert.equal((await unit.child.stop()).code, 0)
  writeFileSync(join(root, 'app/kept/page.tsx'), kept('second'))
  await startUnit(t, runDirOf(server), 'one')
  const before = load.done()
  await waitFor('some more load', () => load.done() > before + 100, PROCESS_WAIT_MS)
  assert.deepEqual((await load.stop()).failures.slice(0, 5), [])
  await waitFor('the new code', async () => (await get('/kept')).text.includes('second'), PROCESS_WAIT_MS)
})

test('a unit goes on over a restart of the server, and over one that was killed', async (t) => {
  const { server, get } = await openOwnSite(t)
  const unit = await attachUnit(t, server, 'one')
  const host = await renderHostOf(unit)
  assert.equal((await get('/')).status, 200)
  const again = await restart(t, server)
  await siteState(again, 'one', 'ok')
  assert.equal((await client(again)('/')).status, 200)
  await again.child.kill()
  const third = await restart(t, again)
  await siteState(third, 'one', 'ok')
  assert.equal((await client(third)('/')).status, 200)
  assert.match(unit.child.stderr, /lost the connection to the server/)
  assert.equal((await unit.child.stop()).code, 0)
  assert.ok(host > 0)
})
