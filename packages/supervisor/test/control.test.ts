// Runs alone: it starts and kills processes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, waitFor, writeFiles } from '@svc/testkit'
import { Instance } from './harness.ts'

test('the control socket answers status, sites and routes, and turns nonsense away', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  const control = await server.control()

  const status = await server.statusWhen('a spare', ({ hosts }) => hosts.some(({ state }) => state === 'spare'))
  assert.equal(status.pid, server.child.pid)
  assert.equal(status.generation, 1)
  assert.deepEqual(status.listen, server.ready.listen)
  assert.deepEqual(
    status.workers.map(({ id, state, generation }) => ({ id, state, generation })),
    [{ id: 1, state: 'ready', generation: 1 }],
  )
  assert.deepEqual(
    status.hosts.map(({ state, sites }) => ({ state, sites })).sort((a, b) => a.state.localeCompare(b.state)),
    [
      { state: 'ready', sites: ['shop'] },
      { state: 'spare', sites: [] },
    ],
  )
  assert.equal(status.last_reload, null)

  const { sites } = await control.call('sites', undefined, { timeoutMs: 60_000 })
  // The count of problems comes with the first survey of the site.
  assert.deepEqual(
    sites.map((site) => ({ ...site, problems: site.problems ?? 1 })),
    [
      {
        id: 'shop',
        label: 'shop',
        hostnames: ['shop.test'],
        root: join(instance.dir, 'site'),
        process: 'in-process',
        state: 'ok',
        problems: 1,
      },
    ],
  )
  assert.deepEqual(await control.call('routes', { site: 'shop' }, { timeoutMs: 60_000 }), {
    routes: [{ pattern: '/', kind: 'page', file: '/srv/shop/app/page.tsx' }],
    problems: ['a notice of shop'],
  })
  await assert.rejects(control.call('routes', { site: 'nope' }, { timeoutMs: 60_000 }), {
    code: 'SUP_UNKNOWN_SITE',
    message: /there are: shop/,
  })

  const stranger = connect({ path: join(instance.runDir, 'control.sock') })
  stranger.end('GET / HTTP/1.1\r\n\r\n')
  stranger.resume()
  await new Promise((resolve) => stranger.once('close', resolve))
  assert.equal((await server.status()).generation, 1)
})

test('health and metrics reach the workers, and totals of dead workers are kept', async (t) => {
  const server = await new Instance(t).start()
  assert.deepEqual(JSON.parse(await server.fetch('/health')).checks, { render_pool: 'ok', isr_cache: 'ok', disk_space: 'ok' })
  const requests = (text: string) => Number(/^http_requests_total\{.*\} (\d+)$/m.exec(text)?.[1])
  const first = await server.fetch('/metrics')
  assert.equal(requests(first), 2)
  for (const line of [
    /^svc_processes_up\{kind="worker"\} 1$/m,
    /^svc_config_generation 1$/m,
    /^render_pool_total [24]$/m,
    /^process_uptime_seconds \d/m,
  ])
    assert.match(first, line)
  const { pid } = await server.worker()
  await assert.rejects(server.fetch('/crash'))
  await server.statusWhen('a new worker', ({ workers }) => workers[0]?.state === 'ready' && workers[0].pid !== pid)
  const second = await server.fetch('/metrics')
  assert.ok(requests(second) >= 3, second)
})

test('an edit of a site reaches workers', async (t) => {
  const instance = new Instance(t, { more: 'mode = "development"' })
  const server = await instance.start({ env: { SVC_MASQUERADE_ROUTE_WATCH_MS: '50' } })
  let edits = 0
  await waitFor(
    'the edit to be seen',
    async () => {
      writeFiles(instance.dir, { [`site/app/page-${edits++}.tsx`]: 'x' })
      return (await server.worker()).sitesChanged.includes('shop')
    },
    PROCESS_WAIT_MS,
  )
})

test('clients that do not end their side hold up no stop', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  for (const name of ['control.sock', 'units.sock']) {
    const client = connect({ path: join(instance.runDir, name), allowHalfOpen: true })
    t.after(() => client.destroy())
    await once(client, 'connect')
    // The server's first message shows that it has accepted the connection.
    await once(client, 'data')
  }
  assert.equal((await server.child.stop()).code, 0)
  assert.doesNotMatch(server.child.stderr, /failed to close/)
})

test('operations over the control socket are recorded with their result, reading is not', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  const control = await server.control()
  const limit = { timeoutMs: 60_000 }
  await control.call('status', undefined, limit)
  await control.call('flushIsolates', { site: 'shop' }, limit)
  await assert.rejects(control.call('flushIsolates', { site: 'nope' }, limit), { code: 'SUP_UNKNOWN_SITE' })
  await assert.rejects(control.call('resetOverride', { key: 'sites.shop.maintenance' }, limit), { code: 'SUP_NO_OVERRIDE' })
  const file = join(instance.dir, '.svc/state/audit.jsonl')
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  const username = `cli:${process.getuid?.()}`
  assert.deepEqual(
    lines.map((line) => {
      const record = JSON.parse(line)
      return [record.username, record.action, record.target, record.result]
    }),
    [
      [username, 'svc flushIsolates', '{"site":"shop"}', 'ok'],
      [username, 'svc flushIsolates', '{"site":"nope"}', 'failed'],
      [username, 'svc resetOverride', '{"key":"sites.shop.maintenance"}', 'failed'],
    ],
  )
})
