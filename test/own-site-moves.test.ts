// Campaign: moves of sites between processes.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { Child, PROCESS_WAIT_MS, startLoad, startServer, svcCommand, tempDir, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { client } from './backend.ts'
import { runDirOf, statusOf } from './control.ts'
import { fileOf, openOwnSite, page } from './own-site-server.ts'
import { attachUnit, renderHostOf, siteState, startUnit, wellOrSoon } from './site-unit.ts'

test('a purge that came while the unit was cut off from the server holds for it when it is back', async (t) => {
  const root = tempSite(t, {
    'app/route.ts': `import { unstable_cache } from 'next/cache'
const made = unstable_cache(async () => crypto.randomUUID(), [], { tags: ['posts'] })
export const GET = async () => new Response(await made())`,
  })
  const config = `[endpoints]\nadmin = true\n\n[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\nprocess = "own"\n`
  const server = await startServer(t, { config })
  const unit = await attachUnit(t, server, 'one')
  const get = client(server)
  const first = (await get('/')).text
  assert.equal((await get('/')).text, first)
  // Nothing of the unit runs: it answers no purge, and the server does without it.
  const host = await renderHostOf(unit)
  process.kill(unit.ready.pid, 'SIGSTOP')
  process.kill(host, 'SIGSTOP')
  const purge = new Child(t, svcCommand, ['purge', 'isr', '--tag', 'posts', '--config', server.configFile ?? ''])
  assert.equal((await purge.exited).code, 0, purge.stderr)
  await siteState(server, 'one', 'degraded')
  process.kill(host, 'SIGCONT')
  process.kill(unit.ready.pid, 'SIGCONT')
  await siteState(server, 'one', 'ok')
  const second = (await get('/')).text
  assert.notEqual(second, first)
  assert.equal((await get('/')).text, second)
})

test('a reload gives a site its own process, other settings, and takes the process away again, without a failed request', async (t) => {
  const root = tempSite(t, {
    'app/page.tsx': `export const dynamic = 'force-dynamic'\nexport default () => <p>{process.env.COLOUR}</p>`,
  })
  const site = (mode: string, colour: string) =>
    `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\nprocess = "${mode}"\nenv = { COLOUR = "${colour}" }\n`
  const server = await startServer(t, { config: site('in-process', 'red') })
  const file = server.configFile ?? assert.fail('a configuration file')
  const text = readFileSync(file, 'utf8')
  const get = client(server)
  assert.match((await get('/')).text, /red/)
  const reload = async (mode: string, colour: string) => {
    writeFileSync(file, text.replace(site('in-process', 'red'), site(mode, colour)))
    const child = new Child(t, svcCommand, ['reload', '--config', file])
    assert.equal((await child.exited).code, 0, child.stderr)
  }
  const load = startLoad(t, { url: `${server.url}/`, host: 'one.localhost', keepAlive: 2, fresh: 1, check: wellOrSoon })
  await waitFor('some load', () => load.done() > 50, PROCESS_WAIT_MS)
  await reload('own', 'green')
  const unit = await startUnit(t, runDirOf(server), 'one')
  await waitFor('the unit to serve', async () => (await get('/')).text.includes('green'), PROCESS_WAIT_MS)
  await reload('own', 'blue')
  for (let i = 0; i < 5; i++) assert.match((await get('/')).text, /blue/)
  await reload('in-process', 'white')
  for (let i = 0; i < 5; i++) assert.match((await get('/')).text, /white/)
  assert.deepEqual((await load.stop()).failures.slice(0, 5), [])
  assert.equal(existsSync(fileOf(runDirOf(server))), false)
  assert.equal(
    (await statusOf(server)).hosts.some(({ id }) => id.startsWith('own-')),
    false,
  )
  assert.equal((await unit.child.stop()).code, 0)
})

test('a unit that is killed at once takes its render host with it', async (t) => {
  const { server } = await openOwnSite(t)
  const unit = await attachUnit(t, server, 'one')
  const host = await renderHostOf(unit)
  await unit.child.kill()
  await waitFor('the end of its host', () => !existsSync(`/proc/${host}`), PROCESS_WAIT_MS)
  const next = await attachUnit(t, server, 'one')
  assert.notEqual(next.ready.pid, unit.ready.pid)
})

test('a site of a vhost file has a process of its own when the file says so', async (t) => {
  const dir = tempDir(t)
  const root = tempSite(t, { 'app/page.tsx': page('from a vhost') })
  const block = `server { listen 127.0.0.1:0; server_name shop.localhost; svc_app ${root}; svc_site shop; svc_process own; }\n`
  writeFiles(dir, { 'shop.conf': block })
  const server = await startServer(t, { config: `[server]\nlisten = "127.0.0.1:0"\nvhosts = ["${dir}/*.conf"]\n` })
  await siteState(server, 'shop', 'degraded')
  await attachUnit(t, server, 'shop')
  const answer = await client(server, 'shop.localhost')('/')
  assert.deepEqual([answer.status, answer.text.includes('from a vhost')], [200, true])
})
