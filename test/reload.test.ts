import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import {
  Child,
  fetchHttp,
  PROCESS_WAIT_MS,
  startLoad,
  startServer,
  svcCommand,
  tempDir,
  tempSite,
  waitFor,
  writeFiles,
} from '@svc/testkit'
import { reloaded } from './control.ts'

/** The full proof asks for 100,000; each run of the tests makes do with fewer. */
const LOAD_REQUESTS = Number(process.env.LOAD_REQUESTS ?? 4_000)
const RELOADS = 20

const page = (text: string) => `export default function Page() { return <p>${text}</p> }`

function siteConfig(sites: Readonly<Record<string, string>>): string {
  return Object.entries(sites)
    .map(([id, root]) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${root}"\n`)
    .join('\n')
}

test('no request fails while the configuration is reloaded again and again', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('hello') })
  const server = await startServer(t, { config: siteConfig({ one: root, two: root }) })
  const load = startLoad(t, { url: `${server.url}/`, host: 'one.localhost', keepAlive: 6, fresh: 2 })
  for (let round = 1; round <= RELOADS; round++) {
    await waitFor(`${round}/${RELOADS} of the load`, () => load.done() >= (LOAD_REQUESTS * round) / RELOADS, 120_000)
    const file = server.configFile ?? ''
    writeFileSync(file, `${readFileSync(file, 'utf8').split('# round')[0]}# round ${round}\n[env]\nROUND = "${round}"\n`)
    await reloaded(server)
  }
  const report = await load.stop()
  assert.deepEqual(report.failures.slice(0, 5), [])
  assert.ok(report.ok >= LOAD_REQUESTS)
})

test('a broken configuration is refused with its position, and the old one goes on', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('still here') })
  const server = await startServer(t, { config: siteConfig({ one: root }) })
  const file = server.configFile ?? ''
  const good = readFileSync(file, 'utf8')
  writeFileSync(file, `${good}\n[render]\ntimeout_sm = 5\n`)
  const reload = new Child(t, svcCommand, ['reload', '--config', file])
  assert.equal((await reload.exited).code, 78)
  assert.match(reload.stderr, /svc\.config\.toml:\d+:1: .*timeout_sm.*timeout_ms/s)
  assert.equal((await fetchHttp(`${server.url}/`, { host: 'one.localhost' })).status, 200)
})

test('SIGHUP adds and removes sites without a restart', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('one') })
  const other = tempSite(t, { 'app/page.tsx': page('two') })
  const server = await startServer(t, { config: siteConfig({ one: root }) })
  const file = server.configFile ?? ''
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace('one.localhost', 'uno.localhost') + siteConfig({ two: other }))
  server.child.signal('SIGHUP')
  await server.child.waitForLine('the reload', (line) => line.includes('"msg":"reloaded"'))
  const answer = await waitFor(
    'the new site',
    async () => {
      const found = await fetchHttp(`${server.url}/`, { host: 'two.localhost' })
      return found.text.includes('two') ? found : undefined
    },
    PROCESS_WAIT_MS,
  )
  assert.equal(answer.status, 200)
  assert.match((await fetchHttp(`${server.url}/`, { host: 'uno.localhost' })).text, /one/)
})

test('an address that a reload adds is not served when a worker fails to prepare', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('here') })
  const dir = tempDir(t, 'added')
  const server = await startServer(t, {
    config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\nvhosts = ["${dir}/*.conf"]\n${siteConfig({ one: root })}`,
  })
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  writeFiles(dir, { 'new.conf': `server { listen 127.0.0.1:${port}; server_name new.test; location / { return 200 "new"; } }` })
  const status = new Child(t, svcCommand, ['status', '--json', '--config', server.configFile ?? ''])
  await status.exited
  const { workers } = JSON.parse(status.stdout) as { workers: { pid: number }[] }
  const stopped = workers[1]?.pid ?? 0
  process.kill(stopped, 'SIGSTOP')
  const reload = new Child(t, svcCommand, ['reload', '--config', server.configFile ?? ''])
  // The other worker has long prepared by the last of these.
  let answers = 0
  for (let i = 0; i < 1_000; i++)
    await fetchHttp(`http://127.0.0.1:${port}/`, { host: 'new.test' }).then(
      () => answers++,
      () => undefined,
    )
  process.kill(stopped, 'SIGKILL')
  assert.notEqual((await reload.exited).code, 0)
  assert.equal(answers, 0)
  await assert.rejects(fetchHttp(`http://127.0.0.1:${port}/`, { host: 'new.test' }))
  const again = new Child(t, svcCommand, ['reload', '--config', server.configFile ?? ''])
  assert.equal((await again.exited).code, 0, again.stderr)
  assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`, { host: 'new.test' })).text, 'new')
})
