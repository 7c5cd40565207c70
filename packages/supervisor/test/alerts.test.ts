import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { createLogger } from '@svc/telemetry'
import { ManualClock, tempDir, waitFor, writeCertificate } from '@svc/testkit'
import { Alerts } from '../src/alerts/alerts.ts'
import type { Rule } from '../src/alerts/rule.ts'
import { metricOf, WatchedInstance } from './watched-instance.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const site = (id: string, more = '') => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "site"\n${more}`

test('in a healthy instance every built-in alert is listed as ok, and nothing is logged', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop'))
  assert.equal(instance.alerts.report().evaluated_at, null)
  const alerts = await instance.evaluate()
  const names = [...new Set(alerts.map(({ name }) => name))]
  assert.deepEqual(names, [
    'certificate_expiring',
    'disk_space',
    'error_ratio',
    'host_crash_loop',
    'plugin_off',
    'redis_away',
    'reload_failed',
    'render_pool_saturated',
    'site_crash_loop',
    'site_unit_away',
    'slo_burn',
    'task_failed',
    'worker_crash_loop',
  ])
  const unexpected = alerts.filter(({ state, name, hint }) => hint === '' || (state !== 'ok' && name !== 'disk_space'))
  assert.deepEqual(unexpected, [])
  assert.equal(instance.alerts.report().evaluated_at, new Date(instance.clock.now()).toISOString())
  assert.deepEqual(instance.news, [])
})

test('workers that die three times within a minute raise an alert, until a quiet minute has passed', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop'))
  await instance.crash(instance.workers, 2)
  assert.equal((await instance.stateOf('worker_crash_loop')).state, 'ok')
  await instance.crash(instance.workers, 1)
  const { state, value, unit, site: about } = await instance.stateOf('worker_crash_loop')
  assert.deepEqual([state, value, unit, about], ['firing', 1, 'workers', null])
  assert.equal((await instance.stateOf('worker_crash_loop', MINUTE + 1)).state, 'ok')
})

test('a Redis that is away for half a minute raises an alert, until it is back', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop'))
  instance.redis.problem = 'it does not answer in time'
  assert.equal((await instance.stateOf('redis_away')).state, 'pending')
  assert.equal((await instance.stateOf('redis_away', MINUTE / 2)).state, 'firing')
  instance.redis.problem = undefined
  assert.equal((await instance.stateOf('redis_away', 1_000)).state, 'ok')
})

test('a task whose last run failed raises an alert, until a run succeeds', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop'))
  instance.failingTasks.push('nightly')
  const { state, subject } = await instance.stateOf('task_failed')
  assert.deepEqual([state, subject], ['firing', 'nightly'])
  instance.failingTasks.pop()
  assert.notEqual((await instance.stateOf('task_failed', 1_000)).state, 'firing')
})

test('a plugin that is switched off raises an alert, until it is enabled, disabled, or another file takes its place', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop'))
  const { plugins } = instance.parts
  const plugin = { name: 'gate', hash: 'one', enabled: true }
  const stateWith = async (changed: Partial<typeof plugin>) => {
    instance.servePlugins([{ ...plugin, ...changed }])
    return (await instance.stateOf('plugin_off', 1_000)).state
  }
  assert.equal(await stateWith({}), 'ok')
  plugins.switchOff({ name: 'gate', hash: 'one', reason: 'it failed' })
  assert.equal(await stateWith({}), 'firing')
  assert.equal((await instance.stateOf('plugin_off')).subject, 'gate')
  assert.notEqual(await stateWith({ enabled: false }), 'firing')
  assert.equal(await stateWith({}), 'firing')
  assert.notEqual(await stateWith({ hash: 'two' }), 'firing')
  assert.equal(await stateWith({}), 'firing')
  await plugins.switchOn(plugin)
  assert.notEqual(await stateWith({}), 'firing')
})

test('a render host that dies again and again raises an alert, and the site that does it is named', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop') + site('blog'))
  await instance.report({ site: 'shop', threads: 1, active: 1, queued: 0 })
  await instance.crash(instance.hosts, 1)
  await instance.report({ site: 'shop', threads: 1, active: 1, queued: 0 })
  await instance.crash(instance.hosts, 1)
  // The site has a host of its own now: which of the two is the latest is open.
  for (const host of instance.hosts) host.kill()
  await waitFor('the third death is counted', () => instance.parts.hosts.shared.looping === 1)
  instance.clock.advance(1_000)
  const alerts = await instance.evaluate()
  const firing = alerts.filter(({ state }) => state === 'firing').map(({ name, site: id, subject }) => [name, id, subject])
  assert.deepEqual(firing, [
    ['host_crash_loop', null, ''],
    ['site_crash_loop', 'shop', 'render host'],
  ])
})

test('a site whose isolates end again and again raises an alert', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop'))
  for (let i = 0; i < 4; i++) instance.losses.note('shop', instance.clock.monotonic())
  assert.equal((await instance.stateOf('site_crash_loop')).state, 'ok')
  instance.losses.note('shop', instance.clock.monotonic())
  const { state, site: id, subject } = await instance.stateOf('site_crash_loop')
  assert.deepEqual([state, id, subject], ['firing', 'shop', 'isolates'])
})

test('a site with a process of its own that is away for a minute raises an alert', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop', 'process = "own"\n') + site('blog'))
  assert.equal((await instance.stateOf('site_unit_away')).state, 'pending')
  assert.equal((await instance.stateOf('site_unit_away', MINUTE - 1)).state, 'pending')
  const { state, site: id } = await instance.stateOf('site_unit_away', 1)
  assert.deepEqual([state, id], ['firing', 'shop'])
})

test('a certificate that ends within 14 days raises an alert with its names and the site that it is for', async (t) => {
  const dir = tempDir(t, 'certs')
  const instance = await WatchedInstance.start(t, '')
  const from = new Date(instance.clock.now() - DAY)
  const to = new Date(instance.clock.now() + 15 * DAY)
  writeCertificate(dir, 'shop', { commonName: 'shop.test', hosts: ['shop.test', 'www.shop.test'], validity: { from, to } })
  const files = `tls_cert = "${dir}/shop.crt"\ntls_key = "${dir}/shop.key"\n`
  assert.ok(await instance.reload(`[server]\nlisten_tls = "127.0.0.1:0"\n${site('shop', files)}${site('blog')}`))
  await instance.parts.certificates.served(instance.spec.tls)
  assert.equal((await instance.stateOf('certificate_expiring')).state, 'ok')
  const { state, site: id, subject, value } = await instance.stateOf('certificate_expiring', 2 * DAY)
  assert.deepEqual([state, id, subject], ['firing', 'shop', 'shop.test and 1 more'])
  assert.ok(value !== null && Math.abs(value - 13) < 0.1, String(value))
  assert.ok(((await instance.stateOf('certificate_expiring', 20 * DAY)).value ?? 0) < -6)
})

test('renders of a site that wait for a minute raise an alert', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop') + site('blog'))
  await instance.report({ site: 'shop', threads: 2, active: 2, queued: 7 }, { site: 'blog', threads: 1, active: 1, queued: 0 })
  assert.equal((await instance.stateOf('render_pool_saturated')).state, 'pending')
  const { state, site: id, value } = await instance.stateOf('render_pool_saturated', MINUTE)
  assert.deepEqual([state, id, value], ['firing', 'shop', 7])
  await instance.report({ site: 'shop', threads: 2, active: 2, queued: 0 })
  assert.equal((await instance.stateOf('render_pool_saturated')).state, 'ok')
})

test('a directory without free space raises an alert that names it', async (t) => {
  const instance = await WatchedInstance.start(t, '[cache]\ndir = "cache"\n')
  rmSync(instance.config.cache.dir, { recursive: true })
  await instance.evaluate()
  const alerts = await instance.evaluate(MINUTE)
  const alert = alerts.find(({ subject }) => subject === instance.config.cache.dir)
  assert.deepEqual([alert?.name, alert?.state, alert?.value], ['disk_space', 'firing', 0])
})

test('a reload that fails raises an alert, until one succeeds', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop'))
  assert.equal(await instance.reload('[server]\nwrokers = 1\nmore = 2\n'), false)
  const { state, value } = await instance.stateOf('reload_failed')
  assert.deepEqual([state, value], ['firing', 2])
  assert.equal(await instance.reload(site('shop')), true)
  assert.equal((await instance.stateOf('reload_failed')).state, 'ok')
})

const memory = '[[obs.alerts]]\nname = "memory"\nmetric = "http_active_connections"\nabove = 100\nfor_secs = 60\nhint = "look"\n'

test('an alert of the configuration compares the sum of a gauge over all processes', async (t) => {
  const instance = await WatchedInstance.start(t, memory)
  const [worker] = instance.workers
  const rss = (value: number) => [metricOf('gauge', 'http_active_connections', [{ labels: {}, value }])]
  Object.assign(worker ?? {}, { metrics: rss(60) })
  assert.deepEqual(pick(await instance.stateOf('memory')), ['ok', 60])
  Object.assign(instance.hosts[0] ?? {}, { metrics: rss(41) })
  assert.deepEqual(pick(await instance.stateOf('memory')), ['pending', 101])
  const { state, hint, source } = await instance.stateOf('memory', MINUTE)
  assert.deepEqual([state, hint, source], ['firing', 'look', 'configured'])
})

const pick = ({ state, value }: { readonly state: string; readonly value: number | null }) => [state, value]

test('a counter counts with its increase within five minutes, only in the series with the labels', async (t) => {
  const watched = 'metric = "http_requests_total"\nlabels = { status = "500" }\nfor_secs = 0\n'
  const toml = `[[obs.alerts]]\nname = "errors"\n${watched}above = 2\n[[obs.alerts]]\nname = "silence"\n${watched}below = 1\n`
  const instance = await WatchedInstance.start(t, toml)
  const [worker] = instance.workers
  const count = (failed: number, others: number) =>
    Object.assign(worker ?? {}, {
      metrics: [
        metricOf('counter', 'http_requests_total', [
          { labels: { status: '200', method: 'GET' }, value: others },
          ...(failed === 0 ? [] : [{ labels: { status: '500', method: 'GET' }, value: failed }]),
        ]),
      ],
    })
  count(0, 50)
  assert.deepEqual(pick(await instance.stateOf('errors')), ['ok', 0])
  assert.deepEqual(pick(await instance.stateOf('silence')), ['ok', 0], 'less than five minutes are known')
  count(3, 90)
  assert.deepEqual(pick(await instance.stateOf('errors', MINUTE)), ['firing', 3])
  assert.deepEqual(pick(await instance.stateOf('errors', 5 * MINUTE)), ['ok', 0])
  assert.deepEqual(pick(await instance.stateOf('silence')), ['firing', 0])
})

test('an alert on a metric that no process has is ok and has no value', async (t) => {
  const instance = await WatchedInstance.start(t, '[[obs.alerts]]\nname = "typo"\nmetric = "procces_bytes"\nbelow = 1\n')
  assert.deepEqual(pick(await instance.stateOf('typo')), ['ok', null])
})

test('a part of a histogram is a metric, and a label of the site makes the alert one of that site', async (t) => {
  const alert = (name: string, metric: string, labels: string) =>
    `[[obs.alerts]]\nname = "${name}"\nmetric = "${metric}"\nlabels = ${labels}\nabove = 1\nfor_secs = 0\n`
  const toml =
    alert('slow', 'render_duration_seconds_bucket', '{ le = "0.5" }') + alert('full', 'svc_isr_site_bytes', '{ site = "shop" }')
  const instance = await WatchedInstance.start(t, toml + site('shop'))
  const slow = (le: number, value: number) => ({ metricName: 'render_duration_seconds_bucket', labels: { le }, value })
  const host = (low: number) => [
    metricOf('histogram', 'render_duration_seconds', [slow(0.5, low), slow(1, 1_000)]),
    metricOf('gauge', 'svc_isr_site_bytes', [
      { labels: { site: 'shop' }, value: 5 },
      { labels: { site: 'blog' }, value: 9 },
    ]),
  ]
  Object.assign(instance.hosts[0] ?? {}, { metrics: host(2) })
  const full = await instance.stateOf('full')
  assert.deepEqual([full.state, full.value, full.site], ['firing', 5, 'shop'])
  Object.assign(instance.hosts[0] ?? {}, { metrics: host(4) })
  assert.deepEqual(pick(await instance.stateOf('slow', MINUTE)), ['firing', 2])
})

test('a worker that does not answer holds up no evaluation, and counts with its last values', async (t) => {
  const instance = await WatchedInstance.start(t, memory)
  const [worker] = instance.workers
  Object.assign(worker ?? {}, { metrics: [metricOf('gauge', 'http_active_connections', [{ labels: {}, value: 500 }])] })
  await instance.evaluate()
  Object.assign(worker ?? {}, { isStalled: true })
  assert.deepEqual(pick(await instance.stateOf('memory', MINUTE)), ['firing', 500])
})

test('without an alert of the configuration no process is asked for its metrics', async (t) => {
  const instance = await WatchedInstance.start(t, site('shop'))
  let calls = 0
  const [worker] = instance.workers
  if (worker !== undefined) worker.peer.call = async (method: string) => void (method === 'metrics' && calls++)
  await instance.evaluate()
  assert.equal(calls, 0)
})

test('a reload keeps the state of an alert whose condition it leaves as it is', async (t) => {
  const instance = await WatchedInstance.start(t, memory)
  Object.assign(instance.workers[0] ?? {}, {
    metrics: [metricOf('gauge', 'http_active_connections', [{ labels: {}, value: 500 }])],
  })
  await instance.evaluate()
  const { state, since } = await instance.stateOf('memory', MINUTE)
  assert.equal(state, 'firing')
  await instance.reload(memory.replace('look', 'look again'))
  const kept = await instance.stateOf('memory', 1_000)
  assert.deepEqual([kept.state, kept.since, kept.hint], ['firing', since, 'look again'])
  await instance.reload(memory.replace('above = 100', 'above = 101'))
  assert.equal((await instance.stateOf('memory', 1_000)).state, 'pending')
  assert.deepEqual(instance.news.slice(1), ['memory: the condition of a firing alert is no longer configured'])
  await instance.reload('')
  assert.ok((await instance.evaluate()).every(({ name }) => name !== 'memory'))
})

/** Alerts with one rule, whose readings a test sets. */
function bench() {
  const clock = new ManualClock(0)
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const logger = createLogger({ level: 'info', format: 'json', base: {}, destination })
  let readings: Rule['readings'] = []
  let judge = async (): Promise<Rule[]> => {
    const names = { source: 'built_in', name: 'a', condition: '', unit: '', hint: 'act' } as const
    return [{ ...names, forMs: MINUTE, readings }]
  }
  const alerts = new Alerts({ judge: () => judge(), silences: { of: () => undefined }, clock, logger })
  const read = async (isTrue: boolean | undefined, afterMs: number) => {
    readings = isTrue === undefined ? undefined : isTrue ? [{ subject: 's', site: 'shop', value: 1, isTrue }] : []
    clock.advance(afterMs)
    await alerts.evaluate()
    return alerts.report().alerts.find(({ subject }) => subject === 's')?.state
  }
  const setJudge = (next: typeof judge) => {
    judge = next
  }
  const logged = () => lines.splice(0).map((line) => JSON.parse(line))
  return { clock, alerts, read, logged, setJudge }
}

test('firing is logged once as a warning with the facts, its end once as information', async () => {
  const { read, logged } = bench()
  assert.equal(await read(true, 0), 'pending')
  assert.equal(await read(true, MINUTE), 'firing')
  assert.equal(await read(true, MINUTE), 'firing')
  const [line, ...others] = logged()
  assert.deepEqual(others, [])
  assert.partialDeepStrictEqual(line, { level: 'warn', alert: 'a', site: 'shop', subject: 's', value: 1, hint: 'act' })
  assert.equal(await read(false, MINUTE), 'ok')
  assert.equal(await read(false, 4 * MINUTE), 'ok')
  assert.deepEqual(logged(), [])
  await read(false, MINUTE)
  await read(false, MINUTE)
  const [end, ...more] = logged()
  assert.deepEqual(more, [])
  assert.partialDeepStrictEqual(end, { level: 'info', alert: 'a', msg: 'an alert is resolved' })
})

test('an alert that comes and goes is logged once, and one that is only pending never', async () => {
  const { read, logged } = bench()
  for (let i = 0; i < 20; i++) {
    await read(true, MINUTE / 2)
    await read(false, MINUTE / 2)
  }
  assert.deepEqual(logged(), [])
  for (let i = 0; i < 20; i++) {
    await read(true, MINUTE)
    assert.equal(await read(true, MINUTE), 'firing')
    assert.equal(await read(false, MINUTE), 'ok')
  }
  assert.equal(logged().length, 1)
})

test('while a condition is unknown its alert stays as it is', async () => {
  const { read, logged } = bench()
  await read(true, 0)
  await read(true, MINUTE)
  assert.equal(await read(undefined, 10 * MINUTE), 'firing')
  assert.equal(await read(false, MINUTE), 'ok')
  assert.equal(logged().length, 1)
})

test('of two things with one name the first counts, and its alert goes on', async () => {
  const { clock, alerts, setJudge } = bench()
  const reading = (value: number) => ({ subject: 's', value, isTrue: true })
  const rule = { source: 'built_in', name: 'a', condition: '', unit: '', hint: '', forMs: MINUTE } as const
  setJudge(async () => [{ ...rule, readings: [reading(1), reading(2)] }])
  await alerts.evaluate()
  clock.advance(MINUTE)
  await alerts.evaluate()
  assert.deepEqual(
    alerts.report().alerts.map(({ state, value }) => [state, value]),
    [['firing', 1]],
  )
})

test('an evaluation that fails is logged, and the next one runs on the timer', async (t) => {
  const { clock, alerts, logged, setJudge } = bench()
  let runs = 0
  setJudge(async () => {
    runs++
    throw new Error('broken')
  })
  alerts.start()
  t.after(() => alerts.close())
  await waitFor('the timer', () => clock.timers === 1)
  assert.equal(logged()[0]?.msg, 'failed to evaluate the alerts')
  clock.advance(15_000)
  await waitFor('the second evaluation', () => runs === 2 && clock.timers === 1)
  alerts.close()
  assert.equal(clock.timers, 0)
})
