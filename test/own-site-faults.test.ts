import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, statSync, watch, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createSocketChannel, RpcPeer } from '@svc/core'
import { PROTOCOL_VERSION, unitMethods, unitParentMethods } from '@svc/protocol'
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
import { client, restart } from './backend.ts'
import { runDirOf, statusOf } from './control.ts'
import { attachUnit, renderHostOf, siteState, spawnUnit, startUnit, wellOrSoon } from './site-unit.ts'

const page = (text: string) =>
  `export const dynamic = 'force-dynamic'\nexport default function Page() { return <p>${text}</p> }\n`
const kept = (text: string) => `export const revalidate = 3600\nexport default function Page() { return <p>${text}</p> }\n`

async function open(t: TestContext, more = '') {
  const root = tempSite(t, { 'app/page.tsx': page('hello'), 'app/kept/page.tsx': kept('first') })
  const other = tempSite(t, { 'app/page.tsx': page('neighbour') })
  const sites = [
    `id = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\nprocess = "own"\nenv = { COLOUR = "blue" }\n`,
    `id = "two"\nhostnames = ["two.localhost"]\nroot = "${other}"\nenv = { PASSWORD = "of-two" }\n`,
  ]
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n${more}\n${sites.map((site) => `[[sites]]\n${site}`).join('\n')}`
  const server = await startServer(t, { config })
  return { root, server, runDir: runDirOf(server), get: client(server), two: client(server, 'two.localhost') }
}

/** Starts a unit that is to end by itself. */
async function refused(t: TestContext, runDir: string, site: string): Promise<{ code: number | null; stderr: string }> {
  const child = spawnUnit(t, runDir, site)
  const { code } = await child.exited
  return { code, stderr: child.stderr }
}

const fileOf = (runDir: string, site = 'one') => join(runDir, `sites/${site}.json`)

/** A connection to the server as a unit has it, with what is answered to calls. */
async function dial(t: TestContext, runDir: string, answers: object = {}, version = PROTOCOL_VERSION) {
  const socket = connect(join(runDir, 'units.sock'))
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  const nothing = () => undefined
  return new RpcPeer({
    channel: createSocketChannel(socket),
    local: unitMethods,
    handlers: { ...Object.fromEntries(Object.keys(unitMethods).map((name) => [name, nothing])), ...answers } as never,
    remote: unitParentMethods,
    protocolVersion: version,
    peerName: 'the server',
    onProblem: nothing,
  })
}

/** Speaks to the server as a unit would. */
async function introduce(t: TestContext, runDir: string, token: string, site = 'one', version = PROTOCOL_VERSION) {
  const peer = await dial(t, runDir, {}, version)
  return peer.call('hello', { site, token, pid: process.pid, version: 'test' }, { timeoutMs: 60_000 })
}

test('without a whole file of its own, or with one that others may read, a unit does not start and says why', async (t) => {
  const empty = await refused(t, tempDir(t), 'one')
  assert.equal(empty.code, 75)
  assert.match(empty.stderr, /there is no .*sites\/one\.json: the server writes it when it starts or reloads/)

  const { server, runDir } = await open(t)
  assert.equal((await refused(t, runDir, 'two')).code, 75, 'a site that has no process of its own')
  const file = fileOf(runDir)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const whole = readFileSync(file, 'utf8')
  assert.doesNotMatch(whole, /of-two|neighbour|two\.localhost/, 'nothing of another site')

  writeFileSync(file, whole.slice(0, whole.length / 2))
  const half = await refused(t, runDir, 'one')
  assert.equal(half.code, 75)
  assert.match(half.stderr, /not whole/)

  writeFileSync(file, whole)
  chmodSync(file, 0o644)
  const open644 = await refused(t, runDir, 'one')
  assert.equal(open644.code, 78)
  assert.match(open644.stderr, /may be read or written by others \(mode 644\)/)

  const reload = new Child(t, svcCommand, ['reload', '--config', server.configFile ?? ''])
  assert.equal((await reload.exited).code, 0, reload.stderr)
  assert.equal(statSync(file).mode & 0o777, 0o600, 'a reload mends it')
  await attachUnit(t, server, 'one')
})

test('a second unit of a site is refused, and the first goes on', async (t) => {
  const { server, runDir, get } = await open(t)
  const unit = await attachUnit(t, server, 'one')
  const second = await refused(t, runDir, 'one')
  assert.equal(second.code, 69)
  assert.match(second.stderr, /another unit of the site "one" is already running/)
  assert.equal((await get('/')).status, 200)
  assert.equal((await unit.child.stop()).code, 0)
  assert.equal(existsSync(unit.ready.socket), false, 'nothing is left behind')
})

test('SIGHUP while a unit starts is carried out when the service manager knows that it has started', async (t) => {
  const { runDir } = await open(t)
  const tools = tempDir(t, 'tools')
  const said = () => (existsSync(join(tools, 'said')) ? readFileSync(join(tools, 'said'), 'utf8').trim().split('\n') : [])
  writeFileSync(join(tools, 'systemd-notify'), `#!/bin/sh\necho "$1" >> ${join(tools, 'said')}\n`, { mode: 0o755 })
  const watcher = watch(runDir)
  t.after(() => watcher.close())
  // The socket of a render host has this name until the host is ready, which may be too short for a poll.
  const hostListens = new Promise<void>((resolve) => {
    watcher.on('change', (_, name) => /^one\.sock\d$/.test(String(name)) && resolve())
  })
  const child = spawnUnit(t, runDir, 'one', { PATH: `${tools}:${process.env['PATH']}`, NOTIFY_SOCKET: '/none' })
  await hostListens
  for (let signal = 0; signal < 20; signal++) child.signal('SIGHUP')
  await child.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  await waitFor('the reload', () => said().length >= 3, PROCESS_WAIT_MS)
  assert.deepEqual(said().slice(0, 3), ['READY=1', 'RELOADING=1', 'READY=1'])
  assert.equal((await child.stop()).code, 0)
})

test('who has not the token, or speaks another version, gets nowhere', async (t) => {
  const { server, runDir, get } = await open(t)
  await attachUnit(t, server, 'one')
  await assert.rejects(introduce(t, runDir, 'x'.repeat(43)), { code: 'SUP_UNIT_REFUSED' })
  await assert.rejects(introduce(t, runDir, '', 'two'), { code: 'SUP_UNKNOWN_SITE' })
  const { token } = JSON.parse(readFileSync(fileOf(runDir), 'utf8')) as { token: string }
  await assert.rejects(introduce(t, runDir, token, 'one', PROTOCOL_VERSION + 1), { code: 'CORE_PEER_GONE' })
  await server.child.waitForLine('the advice', (line) => line.includes('of another version than this server: restart the unit'))
  assert.equal((await get('/')).status, 200)
})

test('a unit that has the server work without end is refused, and no other process is lost', async (t) => {
  const { server, runDir, two } = await open(t)
  assert.equal((await two('/')).status, 200)
  const { token } = JSON.parse(readFileSync(fileOf(runDir), 'utf8')) as { token: string }
  const answers = {
    ping: () => ({ rssBytes: 1, pools: [] }),
    siteChanged: () => ({ routes: ['/'], movesPaths: false }),
    survey: () => ({ routes: [], problems: [], hasStaticParams: false }),
  }
  const peer = await dial(t, runDir, answers)
  await peer.call('hello', { site: 'one', token, pid: process.pid, version: 'test' }, { timeoutMs: 60_000 })
  await siteState(server, 'one', 'ok')
  const before = (await statusOf(server)).hosts
  const calls = Array.from({ length: 3_000 }, () => peer.call('filesChanged', { files: ['/x'] }, { timeoutMs: 120_000 }))
  const refusals = (await Promise.allSettled(calls)).flatMap((call) => (call.status === 'rejected' ? [call.reason.code] : []))
  assert.ok(refusals.length > 0)
  assert.deepEqual(new Set(refusals), new Set(['SUP_UNIT_REFUSED']))
  assert.equal((await two('/')).status, 200)
  const pids = (hosts: typeof before) => hosts.filter(({ sites }) => !sites.includes('one')).map(({ pid }) => pid)
  const after = pids((await statusOf(server)).hosts)
  // The spare may have come meanwhile.
  assert.deepEqual(
    pids(before).filter((pid) => !after.includes(pid)),
    [],
  )
})

for (const [name, nonsense] of Object.entries({
  nothing: undefined,
  'other types': { routes: 7, problems: [{}], hasStaticParams: 'x' },
})) {
  test(`a unit that answers a survey with ${name} is disconnected, and no other process is lost`, async (t) => {
    const { server, runDir, two } = await open(t)
    assert.equal((await two('/')).status, 200)
    const { token } = JSON.parse(readFileSync(fileOf(runDir), 'utf8')) as { token: string }
    const ping = () => ({ rssBytes: 1, pools: [] })
    const pids = async () => (await statusOf(server)).hosts.filter(({ sites }) => !sites.includes('one')).map(({ pid }) => pid)
    const before = await pids()
    let surveys = 0
    const survey = () => {
      surveys++
      return nonsense
    }
    const peer = await dial(t, runDir, { ping, survey })
    await peer.call('hello', { site: 'one', token, pid: process.pid, version: 'test' }, { timeoutMs: 60_000 })
    // The server asks as soon as the unit serves, so "ok" may be too short to be seen.
    await peer.closed.catch(() => undefined)
    assert.equal(surveys, 1)
    await waitFor('the reason in the log', () => server.child.stderr.includes('reply to survey'), PROCESS_WAIT_MS)
    await siteState(server, 'one', 'degraded')
    assert.equal((await two('/')).status, 200)
    const after = await pids()
    // The spare may have come meanwhile.
    assert.deepEqual(
      before.filter((pid) => !after.includes(pid)),
      [],
    )
    await attachUnit(t, server, 'one')
  })
}

test('while its unit is away a site answers from what is stored, else 503; its neighbour does not notice', async (t) => {
  const { server, get, two } = await open(t)
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
  const { root, server, get } = await open(t)
  const unit = await attachUnit(t, server, 'one')
  assert.match((await get('/kept')).text, /first/)
  const load = startLoad({ url: `${server.url}/`, host: 'one.localhost', keepAlive: 3, fresh: 1, check: wellOrSoon })
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
  const { server, get } = await open(t)
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
  assert.match(unit.child.stderr, /the server is gone/)
  assert.equal((await unit.child.stop()).code, 0)
  assert.ok(host > 0)
})

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
  const load = startLoad({ url: `${server.url}/`, host: 'one.localhost', keepAlive: 2, fresh: 1, check: wellOrSoon })
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
  const { server } = await open(t)
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

test('routes that are read from the files because a unit ended while it was asked are told of as such', async (t) => {
  const { server, runDir } = await open(t)
  const { token } = JSON.parse(readFileSync(fileOf(runDir), 'utf8')) as { token: string }
  let surveys = 0
  const first = Promise.withResolvers<void>()
  const survey = () => {
    if (++surveys > 1) peer.close()
    first.resolve()
    return { routes: [], problems: [], hasStaticParams: false }
  }
  const peer = await dial(t, runDir, { ping: () => ({ rssBytes: 1, pools: [] }), survey })
  await peer.call('hello', { site: 'one', token, pid: process.pid, version: 'test' }, { timeoutMs: 60_000 })
  await first.promise
  const routes = new Child(t, svcCommand, ['routes', 'one', '--config', server.configFile ?? ''])
  assert.equal((await routes.exited).code, 0, routes.stderr)
  assert.match(routes.stderr, /the server did not list the routes \(.+\): these are read from the files/)
  assert.match(routes.stdout, /^\/kept /m)
})
