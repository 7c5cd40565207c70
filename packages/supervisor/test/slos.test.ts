import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetLeft, burnRate, burnWindows, isBurning } from '../src/slos/burn-rate.ts'
import { WatchedInstance } from './watched-instance.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const site = (id: string) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "site"\n`
const sites = site('shop') + site('blog')
const slo = (name: string, more: string) => `[[obs.slos]]\nname = "${name}"\n${more}\n`
const up = slo('up', 'site = "shop"\nkind = "availability"\nobjective = 0.99')

test('a burn rate is the share of bad requests in that of the budget; without requests it is 0', () => {
  const cases: [total: number, good: number, objective: number, rate: number][] = [
    [0, 0, 0.999, 0],
    [1000, 1000, 0.999, 0],
    [1000, 999, 0.999, 1],
    [1000, 0, 0.9, 10],
    [200, 100, 0.95, 10],
  ]
  for (const [total, good, objective, rate] of cases) {
    assert.ok(Math.abs(burnRate({ total, good }, objective) - rate) < 1e-9, `${total} ${good} ${objective}`)
    assert.ok(Math.abs(budgetLeft({ total, good }, objective) - (1 - rate)) < 1e-9)
  }
})

test('a budget burns where both windows are above the threshold, and there are more than a few bad requests', () => {
  const bad = { total: 100, good: 80 }
  const fine = { total: 100, good: 99 }
  assert.equal(isBurning(bad, bad, 0.99, 14.4), true)
  assert.equal(isBurning(bad, fine, 0.99, 14.4), false)
  assert.equal(isBurning(fine, bad, 0.99, 14.4), false)
  assert.equal(isBurning({ total: 4, good: 0 }, { total: 4, good: 0 }, 0.99, 14.4), false)
})

test('the windows and thresholds are those of the Site Reliability Workbook', () => {
  assert.deepEqual(
    burnWindows.map(({ long, short, threshold }) => [long.name, long.ms, short.name, short.ms, threshold]),
    [
      ['1h', HOUR, '5m', 5 * MINUTE, 14.4],
      ['6h', 6 * HOUR, '30m', 30 * MINUTE, 6],
      ['1d', DAY, '2h', 2 * HOUR, 3],
      ['3d', 3 * DAY, '6h', 6 * HOUR, 1],
    ],
  )
})

test('more than 5 % of at least 20 responses with a status 5xx raise an alert, for the site and for all', async (t) => {
  const instance = await WatchedInstance.start(t, sites)
  await instance.serve(1, { site: 'shop', count: 9, status: 500 }, { site: 'blog', count: 10 })
  assert.equal((await instance.stateOf('error_ratio')).state, 'ok', '19 requests')
  await instance.serve(1, { site: 'shop', count: 30, status: 500 }, { site: 'blog', count: 100 })
  await instance.evaluate()
  await instance.serve(1, { site: 'shop', count: 11, status: 500 })
  const firing = (await instance.evaluate()).filter(({ state }) => state === 'firing')
  assert.deepEqual(
    firing.map(({ name, site: id, value }) => [name, id, value]),
    [
      ['error_ratio', null, 31.25],
      ['error_ratio', 'shop', 100],
    ],
  )
  await instance.serve(6, { site: 'shop', count: 100 })
  assert.equal((await instance.stateOf('error_ratio')).state, 'ok')
})

test('an objective whose budget burns raises an alert of its site, which ends soon after the cause', async (t) => {
  const instance = await WatchedInstance.start(t, sites + up)
  await instance.serve(60, { site: 'shop', count: 1000 })
  assert.equal((await instance.stateOf('slo_burn')).state, 'ok')
  await instance.serve(5, { site: 'shop', count: 80 }, { site: 'shop', count: 20, status: 503 })
  assert.equal((await instance.stateOf('slo_burn')).state, 'ok', 'of the hour only 0.2 % are bad')
  await instance.serve(60, { site: 'shop', count: 80 }, { site: 'shop', count: 20, status: 503 })
  const { state, site: id, subject, value } = await instance.stateOf('slo_burn')
  assert.deepEqual([state, id, subject, Math.round(value ?? 0)], ['firing', 'shop', 'up', 20])
  const [fast] = instance.slos.statuses()[0]?.burn_rates ?? []
  assert.equal(fast?.is_burning, true)
  await instance.serve(130, { site: 'shop', count: 1000 })
  assert.equal((await instance.stateOf('slo_burn')).state, 'ok')
})

test('an objective counts its own site, or all sites, over its window, and the budget that is left', async (t) => {
  const all = slo('all', 'kind = "availability"\nobjective = 0.9\nwindow_days = 7')
  const instance = await WatchedInstance.start(t, sites + up + all)
  const begin = instance.clock.now()
  await instance.serve(
    2,
    { site: 'shop', count: 995 },
    { site: 'shop', count: 5, status: 500 },
    { site: 'blog', count: 1000, status: 404 },
  )
  const [ofShop, ofAll] = (await instance.slos.report()).slos
  assert.deepEqual([ofShop?.total, ofShop?.good, ofShop?.ratio], [2000, 1990, 0.995])
  assert.ok(Math.abs((ofShop?.budget_left ?? 0) - 0.5) < 1e-9)
  assert.deepEqual([ofAll?.total, ofAll?.good, ofAll?.site], [4000, 3990, null])
  const since = Date.parse(ofAll?.counted_since ?? '')
  assert.ok(since <= begin && since > begin - HOUR, ofAll?.counted_since ?? 'none')
})

test('a latency objective counts the responses within its threshold', async (t) => {
  const fast = slo('fast', 'site = "shop"\nkind = "latency"\nobjective = 0.9\nthreshold_ms = 300')
  const instance = await WatchedInstance.start(t, sites + fast)
  await instance.serve(1, { site: 'shop', count: 90, ms: 290 }, { site: 'shop', count: 30, ms: 310 })
  const [status] = (await instance.slos.report()).slos
  assert.deepEqual([status?.total, status?.good, status?.threshold_ms], [120, 90, 300])
})

test('after a restart the requests of earlier days count', async (t) => {
  const instance = await WatchedInstance.start(t, sites + up)
  for (let day = 0; day < 3; day++) {
    await instance.serve(1, { site: 'shop', count: 100 }, { site: 'shop', count: 2, status: 500 })
    instance.clock.advance(DAY)
  }
  await instance.restart()
  const [status] = (await instance.slos.report()).slos
  assert.deepEqual([status?.total, status?.good], [306, 300])
})

test('an objective that a reload adds is counted at once, and one that it changes begins with a new alert', async (t) => {
  const instance = await WatchedInstance.start(t, sites + up)
  await instance.serve(60, { site: 'shop', count: 10, status: 500 }, { site: 'blog', count: 7 })
  const { since } = await instance.stateOf('slo_burn')
  const down = slo('calm', 'site = "blog"\nkind = "availability"\nobjective = 0.5')
  assert.ok(await instance.reload(sites + up + down))
  instance.clock.advance(1_000)
  const burns = (await instance.evaluate()).filter(({ name }) => name === 'slo_burn')
  assert.deepEqual(
    burns.map(({ subject, state, since: at }) => [subject, state, at === since]),
    [
      ['up', 'firing', true],
      ['calm', 'ok', false],
    ],
  )
  assert.equal(instance.slos.statuses()[1]?.total, 420)
  assert.ok(await instance.reload(sites + up.replace('0.99', '0.98')))
  assert.notEqual((await instance.stateOf('slo_burn', 1_000)).since, since)
})

test('a store that does not answer holds up no evaluation and no report, and changes no alert', async (t) => {
  const instance = await WatchedInstance.start(t, sites + up)
  await instance.serve(60, { site: 'shop', count: 10, status: 500 })
  assert.equal((await instance.stateOf('slo_burn')).state, 'firing')
  Object.assign(instance.parts.analytics, {
    totals: () => new Promise(() => undefined),
    since: () => new Promise(() => undefined),
  })
  instance.clock.advance(HOUR)
  const evaluated = instance.alerts.evaluate()
  await new Promise((resolve) => setImmediate(resolve))
  instance.clock.advance(2_000)
  await evaluated
  assert.equal(instance.alerts.report().alerts.find(({ name }) => name === 'slo_burn')?.state, 'firing')
  const asked = instance.slos.report()
  await new Promise((resolve) => setImmediate(resolve))
  instance.clock.advance(3_000)
  const [status] = (await asked).slos
  assert.deepEqual([status?.total, status?.budget_left, status?.burn_rates], [null, null, []])
})
