// Runs alone: it starts and kills processes.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { StatusReport } from '@svc/protocol'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { withMood } from './fixtures/moods.ts'
import { fetchText, Instance, takePort } from './harness.ts'

/** A site that brings a process of its own. */
const OWN_SITE = '[[sites]]\nid = "apart"\nhostnames = ["apart.test"]\nroot = "site"\nprocess = "own"\n'

test('a configuration with mistakes keeps the old one in service and reports each with its place', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  instance.configure({ server: 'wrokers = 2' })
  const report = await server.reload()
  assert.equal(report.ok, false)
  assert.equal(report.generation, 1)
  assert.match(report.errors[0] ?? '', /svc\.config\.toml:\d+:\d+: .*wrokers/)
  assert.equal((await server.worker()).generation, 1)
  assert.equal((await server.status()).last_reload?.ok, false)
})

test('a worker that refuses or dies in prepare aborts the reload everywhere', async (t) => {
  const instance = new Instance(t, { workers: 2 })
  const server = await instance.start()
  for (const wish of ['refuse-prepare', 'die-in-prepare']) {
    instance.configure({ workers: 2, more: `[env]\nWORKER = "${wish}"` })
    const report = await server.reload()
    assert.equal(report.ok, false)
    assert.match(report.errors[0] ?? '', /^worker \d failed to prepare: /)
    const status = await server.statusWhen('all workers', ({ workers }) => workers.every(({ state }) => state === 'ready'))
    assert.deepEqual(
      status.workers.map(({ generation }) => generation),
      [1, 1],
    )
  }
  instance.configure({ workers: 2 })
  assert.equal((await server.reload()).ok, true)
})

test('a worker that refuses or dies in commit is replaced by one on the new generation', async (t) => {
  const instance = new Instance(t, { workers: 2 })
  const server = await instance.start()
  for (const [i, wish] of ['die-in-commit', 'refuse-commit'].entries()) {
    const before = (await server.status()).workers.map(({ pid }) => pid)
    instance.configure({ workers: 2, more: `[env]\nWORKER = "${wish}"` })
    assert.equal((await server.reload()).ok, true)
    await server.statusWhen('new workers on the new generation', ({ workers }) =>
      workers.every(({ state, generation, pid }) => state === 'ready' && generation === i + 2 && !before.includes(pid)),
    )
  }
})

test('a render host that cannot prepare does not hold up the reload and is replaced', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  const before = (await server.statusWhen('a spare', ({ hosts }) => hosts.some(({ state }) => state === 'spare'))).hosts.map(
    ({ pid }) => pid,
  )
  instance.configure({ more: withMood('refuse-prepare') })
  const report = await server.reload()
  assert.equal(report.ok, true)
  assert.equal((await server.worker()).generation, 2)
  // The replacement refuses generation 2 as well, so the hosts stay away until the next generation.
  instance.configure({ more: withMood('well') })
  assert.equal((await server.reload()).ok, true)
  await server.statusWhen('a new host and a new spare', ({ hosts }) => {
    const isThere = hosts.every(({ state, pid }) => state !== 'starting' && state !== 'backing-off' && !before.includes(pid))
    return isThere && hosts.length === 2
  })
})

test('workers take over a valid configuration, on the same port, and the report says what changed', async (t) => {
  const instance = new Instance(t, { workers: 2 })
  const server = await instance.start()
  const before = (await server.status()).workers.map(({ pid }) => pid)
  instance.configure({
    workers: 3,
    more: '[[sites]]\nid = "blog"\nhostnames = ["blog.test"]\nroot = "site"\n[metrics]\npath = "/elsewhere"',
  })
  server.child.signal('SIGHUP')
  await server.logged('"msg":"reloaded"')
  const status = await server.status()
  assert.equal(status.generation, 2)
  assert.deepEqual(
    status.workers.map(({ pid }) => pid),
    before,
  )
  assert.deepEqual(
    status.workers.map(({ generation }) => generation),
    [2, 2],
  )
  assert.deepEqual(status.listen, server.ready.listen)
  assert.deepEqual(
    status.sites.map(({ id, state }) => `${id} ${state}`),
    ['shop ok', 'blog ok'],
  )
  const line = JSON.parse(await server.logged('"msg":"reloaded"'))
  assert.deepEqual(line.changed, { added: 1, removed: 0, changed: 0 })
  assert.deepEqual(line.needs_restart, ['server.workers', 'metrics.path'])
})

test('a listen address that is taken fails the reload; a free one is opened and the old one closed', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  const { port, release } = await takePort(t)
  instance.configure({ listen: `127.0.0.1:${port}` })
  const refused = await server.reload()
  assert.deepEqual(refused.errors, [`cannot listen on 127.0.0.1:${port}: the port is in use`])
  assert.equal((await server.worker()).generation, 1)

  await release()
  assert.equal((await server.reload()).ok, true)
  assert.equal(JSON.parse(await fetchText(`http://127.0.0.1:${port}/`)).generation, 3)
  await assert.rejects(server.fetch('/'))
})

test('simultaneous reloads share runs', async (t) => {
  const server = await new Instance(t).start()
  const reports = await Promise.all(Array.from({ length: 8 }, () => server.reload()))
  assert.ok(reports.every(({ ok }) => ok))
  // The first starts a run; the others share the next, but for those that come when it has begun.
  const generations = [...new Set(reports.map(({ generation }) => generation))]
  assert.deepEqual(
    generations,
    generations.map((_, i) => i + 2),
  )
  assert.ok(generations.length < reports.length, `${generations.length} runs`)
})

test('SIGHUP during the start reloads once the start is complete', async (t) => {
  const instance = new Instance(t, { workers: 2 })
  const child = instance.spawn()
  // By then the configuration has been read.
  await waitFor('the pid file', () => existsSync(join(instance.runDir, 'svc.pid')), PROCESS_WAIT_MS)
  instance.configure({ workers: 2, more: '[[sites]]\nid = "blog"\nhostnames = ["blog.test"]\nroot = "site"' })
  for (let signal = 0; signal < 100; signal++) child.signal('SIGHUP')
  const ready = JSON.parse(await child.waitForLine('ready line', (line) => line.startsWith('{"event":"ready"')))
  assert.deepEqual([ready.generation, ready.sites], [1, 1])
  const report = JSON.parse(await child.waitForLine('the reload', (line) => line.includes('"msg":"reloaded"')))
  assert.deepEqual(report.changed, { added: 1, removed: 0, changed: 0 })
  assert.equal((await child.stop()).code, 0)
})

test('render hosts come with the first site that needs them, before it is served, and stay', async (t) => {
  const instance = new Instance(t, { hasSite: false, more: OWN_SITE })
  const server = await instance.start()
  const shared = ({ hosts }: StatusReport) => hosts.filter(({ id }) => !id.startsWith('own-'))
  assert.deepEqual(shared(await server.status()), [])
  instance.configure({ more: OWN_SITE })
  assert.equal((await server.reload()).ok, true)
  const host = (await server.worker()).hosts.find(({ sites }) => sites === '*')
  assert.ok(host?.socket.endsWith(`${host.id}.sock`), host?.socket)
  const states = (status: StatusReport) =>
    shared(status)
      .map(({ state }) => state)
      .sort()
      .join()
  const { hosts } = await server.statusWhen('a host and its spare', (status) => states(status) === 'ready,spare')
  instance.configure({ hasSite: false, more: OWN_SITE })
  assert.equal((await server.reload()).ok, true)
  assert.deepEqual(
    shared(await server.status()).map(({ pid }) => pid),
    hosts.filter(({ id }) => !id.startsWith('own-')).map(({ pid }) => pid),
  )
  assert.equal((await server.child.stop()).code, 0)
})
