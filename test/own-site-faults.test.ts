// Campaign: faults of the unit of a site.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, statSync, watch, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createSocketChannel, RpcPeer } from '@svc/core'
import { PROTOCOL_VERSION, unitMethods, unitParentMethods } from '@svc/protocol'
import { Child, PROCESS_WAIT_MS, svcCommand, tempDir, waitFor } from '@svc/testkit'
import { statusOf } from './control.ts'
import { fileOf, openOwnSite } from './own-site-server.ts'
import { attachUnit, siteState, spawnUnit } from './site-unit.ts'

/** Starts a unit that is to end by itself. */
async function refused(t: TestContext, runDir: string, site: string): Promise<{ code: number | null; stderr: string }> {
  const child = spawnUnit(t, runDir, site)
  const { code } = await child.exited
  return { code, stderr: child.stderr }
}

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
  assert.match(empty.stderr, /missing file .*sites\/one\.json: the server writes it when it starts or reloads/)

  const { server, runDir } = await openOwnSite(t)
  assert.equal((await refused(t, runDir, 'two')).code, 75, 'a site that has no process of its own')
  const file = fileOf(runDir)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const whole = readFileSync(file, 'utf8')
  assert.doesNotMatch(whole, /of-two|neighbour|two\.localhost/, 'nothing of another site')

  writeFileSync(file, whole.slice(0, whole.length / 2))
  const half = await refused(t, runDir, 'one')
  assert.equal(half.code, 75)
  assert.match(half.stderr, /is incomplete, or of another version/)

  writeFileSync(file, whole)
  chmodSync(file, 0o644)
  const open644 = await refused(t, runDir, 'one')
  assert.equal(open644.code, 78)
  assert.match(open644.stderr, /is open to other users \(mode 644\)/)

  const reload = new Child(t, svcCommand, ['reload', '--config', server.configFile ?? ''])
  assert.equal((await reload.exited).code, 0, reload.stderr)
  assert.equal(statSync(file).mode & 0o777, 0o600, 'a reload mends it')
  await attachUnit(t, server, 'one')
})

// Each of the first two leaves no unit behind.
test('on one server', async (t) => {
  const { server, runDir, get } = await openOwnSite(t)

  await t.test('a second unit of a site is refused, and the first goes on', async (t) => {
    const unit = await attachUnit(t, server, 'one')
    const second = await refused(t, runDir, 'one')
    assert.equal(second.code, 69)
    assert.match(second.stderr, /another unit of the site "one" is already running/)
    assert.equal((await get('/')).status, 200)
    assert.equal((await unit.child.stop()).code, 0)
    assert.equal(existsSync(unit.ready.socket), false, 'nothing is left behind')
  })

  await t.test('SIGHUP while a unit starts takes effect once the service manager knows that it has started', async (t) => {
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

  await t.test('a unit without the token, or with another version, is rejected', async (t) => {
    await attachUnit(t, server, 'one')
    await assert.rejects(introduce(t, runDir, 'x'.repeat(43)), { code: 'SUP_UNIT_REFUSED' })
    await assert.rejects(introduce(t, runDir, '', 'two'), { code: 'SUP_UNKNOWN_SITE' })
    const { token } = JSON.parse(readFileSync(fileOf(runDir), 'utf8')) as { token: string }
    await assert.rejects(introduce(t, runDir, token, 'one', PROTOCOL_VERSION + 1), { code: 'CORE_PEER_GONE' })
    await server.child.waitForLine('the advice', (line) =>
      line.includes('has another version than this server: restart the unit'),
    )
    assert.equal((await get('/')).status, 200)
  })
})

test('a unit that makes the server work endlessly is rejected, and no other process is lost', async (t) => {
  const { server, runDir, two } = await openOwnSite(t)
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
    const { server, runDir, two } = await openOwnSite(t)
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

test('routes read from the files because a unit ended during the request are marked as such', async (t) => {
  const { server, runDir } = await openOwnSite(t)
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
