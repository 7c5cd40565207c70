import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditRecord } from '@svc/protocol'
import { createLogger, latencyBin, TopLists, TrafficTotals, TrafficWriter } from '@svc/telemetry'
import { ManualClock } from '@svc/testkit'
import { Analytics } from '../../packages/supervisor/src/analytics/analytics.ts'
import { AuditLog } from '../../packages/supervisor/src/audit/audit-log.ts'

const MINUTE_MS = 60_000
/** Time that the history covers. */
const MINUTES = 75
const TOP_NAMES = 20
const logger = createLogger({ level: 'silent', format: 'json' })

/** The traffic of a site in a usual minute. */
interface Usual {
  readonly site: string
  readonly requests: number
  readonly medianMs: number
  readonly paths: readonly string[]
}

const usual: readonly Usual[] = [
  { site: 'shop', requests: 420, medianMs: 9, paths: ['/', '/products/lamp', '/products/chair', '/cart', '/search'] },
  { site: 'blog', requests: 160, medianMs: 4, paths: ['/', '/posts/cache-tags', '/feed.xml'] },
  { site: 'docs', requests: 60, medianMs: 3, paths: ['/', '/guide', '/api'] },
]
const clients = ['192.0.2.17', '198.51.100.4', '203.0.113.80', '2001:db8::7']
const referrers = ['https://search.example', 'https://news.example', 'https://social.example']

/** Numbers between 0 and 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/** A minute of a site. Half an hour ago the shop was slow and failing for some minutes, until a rollback. */
function minuteOf({ site, requests, medianMs, paths }: Usual, minute: number, random: () => number) {
  const totals = new TrafficTotals()
  const tops = new TopLists(TOP_NAMES)
  const isBad = site === 'shop' && minute >= 38 && minute < 46
  const count = Math.round(requests * (0.8 + 0.2 * Math.sin(minute / 9) + 0.2 * random()))
  for (let made = 0; made < count; made++) {
    const isFailed = random() < (isBad ? 0.08 : 0.001)
    totals.record(isFailed ? 500 : random() < 0.02 ? 404 : random() < 0.05 ? 304 : 200, 4_000 + Math.round(random() * 30_000))
    totals.latency.record(latencyBin(medianMs * (isBad ? 9 : 1) * (0.3 + 1.2 * random() + (random() < 0.03 ? 20 : 0))))
    const layer = random()
    if (layer < 0.55) totals.recordHit('l0')
    else if (layer < (isBad ? 0.6 : 0.88)) totals.recordHit('isr')
    else totals.recordMiss()
  }
  for (const [index, path] of paths.entries()) tops.paths.add(path, Math.ceil(count / (index + 2)))
  for (const [index, name] of clients.entries()) tops.clients.add(name, Math.ceil(count / (index + 3)))
  for (const [index, name] of referrers.entries()) tops.referrers.add(name, Math.ceil(count / (index + 5)))
  return { site, totals, tops }
}

/** Traffic of the last hour, as a server would have left it. */
export async function writeTraffic(stateDir: string, nowMs: number): Promise<void> {
  const clock = new ManualClock(nowMs - (nowMs % MINUTE_MS) - MINUTES * MINUTE_MS)
  const analytics = new Analytics({ stateDir, clock, logger })
  mkdirSync(join(stateDir, 'analytics'), { recursive: true })
  analytics.start()
  const random = numbers(7)
  for (let minute = 0; minute <= MINUTES; minute++) {
    const writer = new TrafficWriter(TOP_NAMES)
    for (const one of usual) writer.add(minuteOf(one, minute, random))
    analytics.add({ at: clock.now(), bytes: writer.take() })
    clock.advance(MINUTE_MS)
    clock.advance(5_000)
    await analytics.since()
    clock.stall(-5_000)
  }
  await analytics.close()
}

type Told = Pick<AuditRecord, 'username' | 'action' | 'target' | 'result' | 'detail'> & { readonly minutesAgo: number }

const told: readonly Told[] = [
  { minutesAgo: 58, username: 'alice', action: 'POST /__svc/admin/api/login', target: '{}', result: 'ok', detail: '' },
  { minutesAgo: 55, username: 'alice', action: 'POST /__svc/admin/api/reload', target: '{}', result: 'ok', detail: '' },
  {
    minutesAgo: 37,
    username: 'tom',
    action: 'POST /__svc/admin/api/deploys',
    target: '{"site":"shop","source":"/srv/releases/shop-42"}',
    result: 'ok',
    detail: '',
  },
  {
    minutesAgo: 29,
    username: 'alice',
    action: 'POST /__svc/admin/api/deploys/rollback',
    target: '{"site":"shop"}',
    result: 'ok',
    detail: '',
  },
  {
    minutesAgo: 21,
    username: '',
    action: 'POST /__svc/admin/api/login',
    target: '{"username":"root"}',
    result: 'denied',
    detail: 'wrong_credentials',
  },
  {
    minutesAgo: 12,
    username: 'vera',
    action: 'POST /__svc/admin/api/workers/restart',
    target: '{}',
    result: 'denied',
    detail: 'forbidden',
  },
  {
    minutesAgo: 9,
    username: 'tom',
    action: 'POST /__svc/admin/api/cache/purge',
    target: '{"tag":"products"}',
    result: 'ok',
    detail: '',
  },
]

/** Operations of the last hour, as a server would have left them. */
export async function writeAudit(stateDir: string, nowMs: number): Promise<void> {
  const begunMs = nowMs - MINUTES * MINUTE_MS
  const audit = await AuditLog.open({ stateDir, logger, nowMs: begunMs, areaOf: () => undefined })
  for (const { minutesAgo, ...record } of told) {
    const at = new Date(nowMs - minutesAgo * MINUTE_MS).toISOString()
    await audit.add({ ...record, at, address: '198.51.100.4', request_id: `018f-${minutesAgo}` })
  }
  await audit.close()
}
