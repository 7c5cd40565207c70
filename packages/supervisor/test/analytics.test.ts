import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ManualClock, tempDir } from '@svc/testkit'
import { Analytics } from '../src/analytics/analytics.ts'
import { planRange } from '../src/analytics/query-plan.ts'
import { bytesOf, type Requests } from './traffic-bytes.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Analytics over real files and a clock that stands still. */
class Instance {
  readonly dir: string
  readonly clock = new ManualClock(Date.parse('2026-03-10T10:20:00Z'))
  readonly warnings: string[] = []
  analytics: Analytics
  readonly #maxBytes: number | undefined

  constructor(t: TestContext, maxBytes?: number) {
    this.dir = tempDir(t, 'analytics')
    this.#maxBytes = maxBytes
    this.analytics = this.#open()
    t.after(() => this.analytics.close())
  }

  get files(): string[] {
    return existsSync(join(this.dir, 'analytics')) ? readdirSync(join(this.dir, 'analytics')).sort() : []
  }

  path(name: string): string {
    return join(this.dir, 'analytics', name)
  }

  report(...all: Requests[]): void {
    this.analytics.add({ at: this.clock.now(), bytes: bytesOf(all) })
  }

  /** Reports the same in each minute of a time, which passes. */
  async pass(ms: number, ...all: Requests[]): Promise<void> {
    for (let passed = 0; passed < ms; passed += MINUTE) {
      this.report(...all)
      this.clock.advance(MINUTE)
      await this.settled()
    }
  }

  /** Resolves when all that is due has been written. */
  async settled(): Promise<void> {
    this.clock.advance(5_000)
    await this.analytics.since()
    this.clock.stall(-5_000)
  }

  /** Another process in place of one that was killed. */
  restart(): void {
    this.analytics = this.#open()
  }

  async requests(fromMs: number, toMs: number, site = 'shop'): Promise<number> {
    return (await this.analytics.totals({ sites: [site], fromMs, toMs })).get(site)?.requests ?? 0
  }

  #open(): Analytics {
    const bytes = this.#maxBytes
    const analytics = new Analytics({
      stateDir: this.dir,
      clock: this.clock,
      logger: { warn: (...args: unknown[]) => void this.warnings.push(String(args.at(-1))) },
      ...(bytes === undefined ? {} : { maxBytes: { minutes: bytes, tops: bytes, hours: bytes, days: bytes } }),
    })
    analytics.start()
    return analytics
  }
}

test('a process that is killed loses no more than the current minute', async (t) => {
  const instance = new Instance(t)
  const from = instance.clock.now()
  await instance.pass(3 * MINUTE, { count: 5, path: '/a' })
  instance.report({ count: 7 })
  instance.restart()
  assert.equal(await instance.requests(from, from + HOUR), 15)
  const { top } = await instance.analytics.report({ window: '5m' })
  assert.deepEqual(top.paths, [{ name: '/a', count: 15 }])
})

test('a process that ends in order loses nothing, and the next one adds to the same minute', async (t) => {
  const instance = new Instance(t)
  instance.report({ count: 2 })
  await instance.analytics.close()
  instance.restart()
  instance.report({ count: 3 })
  const { buckets, step_secs: step } = await instance.analytics.report({ window: '5m', sites: ['shop'] })
  assert.equal(step, 60)
  assert.deepEqual(
    buckets.map(({ at, requests }) => [at.slice(11, 16), requests]),
    [
      ['10:16', 0],
      ['10:17', 0],
      ['10:18', 0],
      ['10:19', 0],
      ['10:20', 5],
    ],
  )
})

test('a minute that was written in part is left out, with one warning, and later minutes are not', async (t) => {
  const instance = new Instance(t)
  const from = instance.clock.now()
  await instance.pass(2 * MINUTE, { count: 5 })
  const [file = ''] = instance.files.filter((name) => name.startsWith('minutes'))
  truncateSync(instance.path(file), statSync(instance.path(file)).size - 3)
  instance.restart()
  await instance.pass(MINUTE, { count: 1 })
  assert.equal(await instance.requests(from, from + HOUR), 6)
  assert.equal(await instance.requests(from, from + HOUR), 6)
  assert.equal(instance.warnings.length, 1)
  assert.match(instance.warnings[0] ?? '', /a part of the analytics is lost: .*minutes-2026031010\.traffic: \d+ damaged bytes/)
})

test('a damaged minute in the middle of a file costs that minute alone', async (t) => {
  const instance = new Instance(t)
  const from = instance.clock.now()
  await instance.pass(3 * MINUTE, { count: 5 })
  const path = instance.path('minutes-2026031010.traffic')
  const bytes = readFileSync(path)
  const middle = Math.floor(bytes.byteLength / 2)
  bytes[middle] = (bytes[middle] ?? 0) ^ 0xff
  writeFileSync(path, bytes)
  assert.equal(await instance.requests(from, from + HOUR), 10)
  assert.equal(instance.warnings.length, 1)
})

test('files of nothing but noise are left out, and other files are not touched', async (t) => {
  const instance = new Instance(t)
  await instance.settled()
  writeFileSync(instance.path('minutes-2026031010.traffic'), Buffer.alloc(3_000_000, 'svcTrf\u0001\n'))
  writeFileSync(instance.path('notes.txt'), 'mine')
  writeFileSync(instance.path('hours-2026031009.traffic.0123abcd.tmp'), 'half')
  instance.restart()
  await instance.pass(MINUTE, { count: 4 })
  assert.equal(await instance.requests(instance.clock.now() - HOUR, instance.clock.now()), 4)
  assert.equal(instance.warnings.length, 1)
  assert.equal(readFileSync(instance.path('notes.txt'), 'utf8'), 'mine')
  assert.ok(!instance.files.some((name) => name.endsWith('.tmp')))
})

test('a directory that cannot be used costs one warning, not the start', async (t) => {
  const blocked = new Instance(t)
  await blocked.settled()
  rmSync(join(blocked.dir, 'analytics'), { recursive: true, force: true })
  writeFileSync(join(blocked.dir, 'analytics'), '')
  blocked.restart()
  await blocked.pass(2 * MINUTE, { count: 1 })
  assert.match(blocked.warnings[0] ?? '', /analytics are not kept: directory .* cannot be used/)
  assert.equal(blocked.warnings.filter((text) => text.startsWith('failed to write analytics')).length, 2, 'one for each kind')
})

test('files take no more than their share of the disk: the oldest minutes are deleted first', async (t) => {
  const maxBytes = 60_000
  const instance = new Instance(t, maxBytes)
  const sites = Array.from({ length: 40 }, (_, i) => ({ site: `site-${i}`, count: 3 }))
  const from = instance.clock.now()
  const bytesOfKind = (kind: string) =>
    instance.files.filter((name) => name.startsWith(kind)).reduce((sum, name) => sum + statSync(instance.path(name)).size, 0)
  await instance.pass(2 * HOUR, ...sites)
  for (const kind of ['minutes', 'tops', 'hours', 'days'])
    assert.ok(bytesOfKind(kind) <= maxBytes, `${kind}: ${bytesOfKind(kind)}`)
  assert.ok(bytesOfKind('minutes') > maxBytes / 4)
  const now = instance.clock.now()
  assert.equal(await instance.requests(now - 10 * MINUTE, now, 'site-39'), 30)
  assert.ok(!instance.files.includes('minutes-2026031010.traffic'))
  assert.equal(await instance.requests(from, from + 10 * MINUTE, 'site-39'), 0)
  assert.ok(instance.analytics.diskBytes() <= 4 * maxBytes)
})

test('a file that alone takes more than the bound does not grow any more, with one warning for each kind', async (t) => {
  const instance = new Instance(t, 2_000)
  await instance.pass(20 * MINUTE, ...Array.from({ length: 20 }, (_, i) => ({ site: `site-${i}` })))
  for (const name of instance.files) assert.ok(statSync(instance.path(name)).size <= 2_000, name)
  const reported = instance.warnings.map((text) => /([a-z]+)-\d+\.traffic/.exec(text)?.[1])
  assert.deepEqual(reported.sort(), ['minutes', 'tops'])
  assert.match(instance.warnings[0] ?? '', /take more than their share of the disk/)
})

test('a minute with more than ten thousand sites leaves out the others, with one warning', async (t) => {
  const instance = new Instance(t)
  for (let i = 0; i < 10_100; i += 100)
    instance.report(...Array.from({ length: 100 }, (_, j) => ({ site: `site-${i + j}`, path: `/${i}` })))
  instance.report({ site: 'site-0' })
  const now = instance.clock.now()
  const totals = await instance.analytics.totals({ fromMs: now, toMs: now + MINUTE })
  assert.equal(totals.size, 10_000)
  assert.equal(totals.get('site-0')?.requests, 2)
  assert.equal(instance.warnings.length, 1)
})

test('hours and days are summed up, and outlive their minutes', async (t) => {
  const instance = new Instance(t)
  const from = instance.clock.now()
  await instance.pass(HOUR, { count: 2, ms: 100, path: '/a' })
  instance.clock.advance(10 * DAY)
  await instance.settled()
  assert.deepEqual(instance.files, ['days-2026031000.traffic'])
  const day = Date.parse('2026-03-10T00:00:00Z')
  const sums = await instance.analytics.totals({ fromMs: day, toMs: day + 30 * DAY })
  assert.equal(sums.get('shop')?.requests, 120)
  assert.equal(sums.get('shop')?.latency.countUpTo(103), 120)
  assert.equal(await instance.requests(from, from + HOUR), 0, 'minutes are gone')
  assert.equal(await instance.analytics.since(), day)
  instance.clock.advance(85 * DAY)
  await instance.settled()
  assert.deepEqual(instance.files, [])
})

test('an hour that ended while no server ran is summed up at the next start', async (t) => {
  const instance = new Instance(t)
  await instance.pass(10 * MINUTE, { count: 2, path: '/a' })
  await instance.analytics.close()
  instance.clock.stall(5 * HOUR)
  instance.restart()
  await instance.settled()
  assert.ok(instance.files.includes('hours-2026031010.traffic'))
  const { buckets, top } = await instance.analytics.report({ window: '7d', sites: ['shop'] })
  assert.equal(buckets.length, 168)
  assert.deepEqual(
    buckets.filter(({ requests }) => requests > 0).map(({ at, requests }) => [at, requests]),
    [['2026-03-10T10:00:00.000Z', 20]],
  )
  assert.deepEqual(top.paths, [{ name: '/a', count: 20 }])
})

test('a range across days, hours, minutes and the current minute counts each request once', async (t) => {
  const instance = new Instance(t)
  const from = instance.clock.now()
  await instance.pass(90 * MINUTE, { count: 1 })
  instance.clock.advance(DAY)
  await instance.pass(30 * MINUTE, { count: 1 })
  instance.clock.advance(DAY)
  await instance.pass(100 * MINUTE, { count: 1 })
  instance.report({ count: 3 })
  assert.equal(await instance.requests(from, instance.clock.now() + MINUTE), 223)
  assert.equal(await instance.requests(from + 10 * MINUTE, instance.clock.now()), 210)
  const { buckets } = await instance.analytics.report({ window: '24h', sites: ['shop'] })
  assert.equal(buckets.length, 96)
  assert.equal(
    buckets.reduce((sum, { requests }) => sum + requests, 0),
    103,
  )
})

test('figures are those of the requests, of the sites that are asked for', async (t) => {
  const instance = new Instance(t)
  instance.report({ count: 98, ms: 10 }, { count: 2, ms: 900, status: 503 }, { site: 'blog', count: 50, status: 404 })
  const last = async (sites?: string[]) =>
    (await instance.analytics.report({ window: '1h', ...(sites && { sites }) })).buckets.at(-1)
  const shop = await last(['shop'])
  assert.deepEqual(shop?.status, { '1xx': 0, '2xx': 98, '3xx': 0, '4xx': 0, '5xx': 2 })
  assert.deepEqual([shop?.requests, shop?.bytes], [100, 10_000])
  assert.ok(Math.abs((shop?.p50_ms ?? 0) - 10) < 0.3 && Math.abs((shop?.p99_ms ?? 0) - 900) < 20)
  assert.equal((await last())?.requests, 150)
  const none = await last([])
  assert.deepEqual([none?.requests, none?.p50_ms], [0, null])
})

test('the last full minute and the last ten seconds are there without a file', (t) => {
  const instance = new Instance(t)
  instance.report({ count: 60 })
  instance.clock.stall(55_000)
  instance.report({ count: 30 })
  instance.clock.stall(5_000)
  instance.report({ count: 1 })
  assert.equal(instance.analytics.lastMinute().get('shop')?.requests, 90)
  assert.deepEqual([...instance.analytics.lastSeconds()], [['shop', 30]])
})

test('a report of a worker whose clock is wrong counts now', async (t) => {
  const instance = new Instance(t)
  const now = instance.clock.now()
  for (const at of [0, now + DAY, Number.NaN]) instance.analytics.add({ at, bytes: bytesOf([{}]) })
  assert.equal(await instance.requests(now, now + MINUTE), 3)
})

test('a report that is no report is refused', (t) => {
  const instance = new Instance(t)
  assert.throws(() => instance.analytics.add({ at: 0, bytes: Buffer.from('noise') }), { code: 'CORE_PROTOCOL' })
})

test('a range is covered without gaps, by the coarsest files that are there', () => {
  const day = Date.parse('2026-03-10T00:00:00Z')
  const plan = planRange(day - 90 * MINUTE, day + DAY + 150 * MINUTE, { hours: day + DAY + HOUR, days: day + DAY })
  const minutesFrom = (ms: number) => (ms - day) / MINUTE
  assert.deepEqual(
    plan.map(({ kind, fromMs, toMs }) => [kind, minutesFrom(fromMs), minutesFrom(toMs)]),
    [
      ['minutes', -90, -60],
      ['hours', -60, 0],
      ['days', 0, 1440],
      ['hours', 1440, 1500],
      ['minutes', 1500, 1590],
    ],
  )
  assert.deepEqual(planRange(day, day, { hours: day, days: day }), [])
})

test('a file that another process appended noise to is read up to there', async (t) => {
  const instance = new Instance(t)
  await instance.pass(MINUTE, { count: 5 })
  appendFileSync(instance.path('minutes-2026031010.traffic'), 'svcTrf\u0001\n and no more')
  assert.equal(await instance.requests(instance.clock.now() - HOUR, instance.clock.now()), 5)
})

test('a report of a long window is used again for seconds, and a bounded number of them is kept', async (t) => {
  const instance = new Instance(t)
  instance.report({ count: 3 })
  const of = (window: '5m' | '24h', ...sites: string[]) => instance.analytics.report({ window, sites })
  const [day, minutes] = [await of('24h', 'shop'), await of('5m', 'shop')]
  assert.equal(await of('24h', 'shop'), day)
  assert.notEqual(await of('5m', 'shop'), minutes)
  instance.clock.advance(4_999)
  assert.equal(await of('24h', 'shop'), day)
  instance.clock.advance(1)
  assert.notEqual(await of('24h', 'shop'), day)
  const again = await of('24h', 'shop')
  for (let i = 0; i < 32; i++) await of('24h', `site-${i}`)
  assert.notEqual(await of('24h', 'shop'), again)
})
