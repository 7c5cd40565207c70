// Campaign: failures of processes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, tempDir, waitFor } from '@svc/testkit'
import { withMood } from './fixtures/moods.ts'
import { fetchText, Instance, takePort, type WorkerFacts } from './harness.ts'

/** A zombie, which may stay where an orphan has no proper parent, is not alive. */
const isAlive = (pid: number) => {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

test('a configuration with mistakes ends the start with all of them and code 78', async (t) => {
  const instance = new Instance(t)
  instance.configure({ server: 'wrokers = 1', more: '[render]\nhosts = "many"' })
  const child = instance.spawn()
  const exit = await child.exited
  assert.equal(exit.code, 78)
  assert.match(child.stderr, /svc\.config\.toml:\d+:\d+: .*wrokers/)
  assert.match(child.stderr, /svc\.config\.toml:\d+:\d+: .*hosts/)
  assert.equal(child.stdout, '')
})

test('a port that is taken ends the start with code 69 and names the address', async (t) => {
  const { port } = await takePort(t)
  const child = new Instance(t, { listen: `127.0.0.1:${port}` }).spawn()
  assert.equal((await child.exited).code, 69)
  const [fault, advice] = child.stderr.split('\n')
  assert.equal(fault, `svc: cannot listen on 127.0.0.1:${port}: the port is in use`)
  assert.match(advice ?? '', /--listen/)
})

test('a worker that never gets ready ends the start with its reason', async (t) => {
  const instance = new Instance(t, { more: '[env]\nWORKER = "die-at-start"' })
  const child = instance.spawn()
  assert.equal((await child.exited).code, 70)
  assert.match(child.stderr, /svc: worker 1 ended 3 times before it was ready: exit code 70\n/)
})

test('a second master on the same run directory is turned away, and the first goes on', async (t) => {
  const instance = new Instance(t)
  const first = await instance.start()
  const second = instance.spawn()
  assert.equal((await second.exited).code, 69)
  assert.match(
    second.stderr,
    new RegExp(`svc: another server \\(pid ${first.child.pid}\\) is already running with the run directory `),
  )
  assert.equal((await first.worker()).generation, 1)
})

for (const key of ['server.state_dir', 'cache.dir']) {
  test(`a master whose ${key} another one uses is turned away, until that has ended`, async (t) => {
    const shared = tempDir(t, 'shared')
    const setup = key === 'cache.dir' ? { more: `[cache]\ndir = "${shared}"` } : { server: `state_dir = "${shared}"` }
    const first = await new Instance(t, setup).start()
    const other = new Instance(t, setup)
    const refused = other.spawn()
    assert.equal((await refused.exited).code, 69)
    assert.ok(refused.stderr.includes(`svc: another server uses ${shared} (${key})\n`), refused.stderr)
    assert.equal((await first.worker()).generation, 1)
    await first.child.kill()
    assert.equal((await (await other.start()).worker()).generation, 1)
  })
}

test('leftovers of a killed master do not hinder the next, and its children exit', async (t) => {
  const instance = new Instance(t)
  const first = await instance.start()
  const { workers, hosts } = await first.statusWhen('a spare', (status) => status.hosts.some(({ state }) => state === 'spare'))
  const pids = [...workers, ...hosts].map(({ pid }) => pid)
  assert.equal(pids.filter(isAlive).length, 3)
  await first.child.kill()
  await waitFor('the orphans to end', () => !pids.some(isAlive), PROCESS_WAIT_MS)
  const second = await instance.start()
  assert.equal((await second.status()).pid, second.child.pid)
})

test('a worker that crashes is replaced at once while the other serves', async (t) => {
  const server = await new Instance(t, { workers: 2 }).start()
  const before = await server.status()
  await assert.rejects(server.fetch('/crash'))
  const after = await server.statusWhen('a new worker', ({ workers }) => {
    return (
      workers.every(({ state }) => state === 'ready') && workers.some(({ pid }) => !before.workers.some((old) => old.pid === pid))
    )
  })
  assert.equal(after.workers.length, 2)
  assert.equal(after.workers.filter(({ pid }) => before.workers.some((old) => old.pid === pid)).length, 1)
  const line = JSON.parse(await server.logged('worker died'))
  assert.equal(line.retry_in_ms, 0)
  assert.match(line.msg, /signal SIGABRT/)
  assert.match(await server.fetch('/metrics'), /^svc_process_deaths_total\{kind="worker"\} 1$/m)
})

test('a worker that crashes repeatedly restarts with growing delays, and health reports it', async (t) => {
  const server = await new Instance(t, { workers: 2 }).start()
  const pidOf = async () => (await server.status()).workers[0]?.pid ?? 0
  let pid = await pidOf()
  for (let death = 1; death <= 4; death++) {
    process.kill(pid, 'SIGKILL')
    const dead = pid
    const status = await server.statusWhen(
      'a new worker',
      ({ workers }) => workers[0]?.state === 'ready' && workers[0].pid !== dead,
    )
    pid = status.workers[0]?.pid ?? 0
  }
  const deaths = () => server.child.stderr.split('\n').filter((line) => line.includes('worker died') && line.endsWith('}'))
  await waitFor('the lines of four deaths', () => deaths().length === 4, PROCESS_WAIT_MS)
  assert.deepEqual(
    deaths().map((line) => JSON.parse(line).retry_in_ms),
    [0, 100, 200, 400],
  )
  const health = JSON.parse(await server.fetch('/health'))
  assert.equal(health.status, 'degraded')
  assert.match(health.checks.workers, /^degraded: workers are crash-looping/)
})

test('a worker that stops answering is killed and replaced', async (t) => {
  const server = await new Instance(t).start({ timings: { pingIntervalMs: 20, pingTimeoutMs: 3_000 } })
  const before = await server.worker()
  await assert.rejects(server.fetch('/hang'))
  await server.logged('worker stopped responding')
  const after = await waitFor('a new worker', () => server.worker().catch(() => undefined), PROCESS_WAIT_MS)
  assert.notEqual(after.pid, before.pid)
})

test('the spare takes over when a render host dies, and workers learn its socket', async (t) => {
  const server = await new Instance(t).start()
  const ready = await server.statusWhen('a spare', ({ hosts }) => hosts.some(({ state }) => state === 'spare'))
  const active = ready.hosts.find(({ state }) => state === 'ready')
  const spare = ready.hosts.find(({ state }) => state === 'spare')
  assert.deepEqual(active?.sites, ['shop'])
  assert.equal((await server.worker()).hosts[0]?.id, active?.id)
  process.kill(active?.pid ?? 0, 'SIGKILL')
  await waitFor('the worker to know the spare', async () => (await server.worker()).hosts[0]?.id === spare?.id, PROCESS_WAIT_MS)
  const after = await server.statusWhen('a new spare', ({ hosts }) => hosts.filter(({ state }) => state === 'spare').length === 1)
  assert.equal(after.hosts.find(({ id }) => id === spare?.id)?.state, 'ready')
  assert.equal(after.hosts.length, 2)
})

test('the site that was in flight at two deaths of its host gets a host of its own', async (t) => {
  const server = await new Instance(t).start()
  const crash = async (sites: readonly string[]) => {
    const { hosts } = await server.statusWhen('a spare', (status) => status.hosts.some(({ state }) => state === 'spare'))
    const active = hosts.find(({ state, sites: served }) => state === 'ready' && served.includes('shop'))
    await server.fetch(`/lost?host=${active?.id}&${sites.map((site) => `site=${site}`).join('&')}`)
    process.kill(active?.pid ?? 0, 'SIGABRT')
    await server.statusWhen('the death to be seen', (status) => !status.hosts.some(({ pid }) => pid === active?.pid))
    await server.logged(`"host":"${active?.id}","place":"shared-1","sites"`)
  }
  await crash(['shop', 'innocent'])
  await crash(['shop'])
  assert.match(await server.logged('render_site_quarantined'), /"sites":\["shop"\]/)
  const status = await server.statusWhen(
    'a host for the site alone',
    ({ hosts }) => hosts.filter(({ state }) => state === 'ready').length === 2,
  )
  assert.equal(status.sites[0]?.state, 'quarantined')
  const knowsBoth = ({ hosts }: WorkerFacts) => JSON.stringify(hosts.map(({ sites }) => sites)) === '["*",["shop"]]'
  await waitFor('the worker to know both hosts', async () => knowsBoth(await server.worker()), PROCESS_WAIT_MS)
  const health = JSON.parse(await server.fetch('/health'))
  assert.equal(health.checks.render_pool, 'degraded: isolates are crash-looping: shop')
})

test('a render host past its memory limit is replaced by a new one that takes over first', async (t) => {
  const instance = new Instance(t, { more: withMood('big') })
  const server = await instance.start({
    timings: { pingIntervalMs: 50, backoff: { firstMs: 10, maxMs: 300, resetAfterMs: 1000 } },
  })
  const first = (await server.worker()).hosts[0]?.id
  await waitFor(
    'another host',
    async () => {
      const { hosts } = await server.worker()
      assert.equal(hosts.length, 1)
      return hosts[0]?.id !== first
    },
    PROCESS_WAIT_MS,
  )
  assert.match(await server.logged('"reason":"memory"'), /replacing a render host/)
  assert.doesNotMatch(server.child.stderr, /render host died/)
})

test('a render host that cannot start does not keep the rest from serving', async (t) => {
  const server = await new Instance(t, { more: withMood('die-at-start') }).start()
  const [absent, ...others] = (await server.worker()).hosts
  assert.match(absent?.socket ?? '', /shared-1\.absent$/)
  assert.deepEqual(others, [])
  const health = JSON.parse(await fetchText(`${server.url}/health`))
  assert.equal(health.checks.render_pool, 'degraded: 0 of 1 render hosts are up')
})

test('workers that ask for a successor get one, one after another, and no request is lost', async (t) => {
  const server = await new Instance(t, { workers: 2 }).start()
  const before = (await server.status()).workers.map(({ pid }) => pid)
  const asked = new Set<number>()
  await waitFor('both workers to ask', async () => asked.add(Number(await server.fetch('/worn-out'))).size === 2, PROCESS_WAIT_MS)
  const isNew = ({ pid, state }: { pid: number; state: string }) => state === 'ready' && !before.includes(pid)
  await server.statusWhen('two successors', ({ workers }) => workers.every(isNew))
  // Of a connection that the kernel has given to a listening socket in the moment that it is closed nothing more is heard.
  for (const pid of before) await waitFor(`the end of ${pid}`, () => !isAlive(pid), PROCESS_WAIT_MS)
  assert.equal((await server.worker()).generation, 1)
  assert.doesNotMatch(server.child.stderr, /worker died/)
})
