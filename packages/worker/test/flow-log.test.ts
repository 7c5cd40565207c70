import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { FlowPlace } from '@svc/protocol'
import { ManualClock } from '@svc/testkit'
import { FlowLog } from '../src/request/flow-log.ts'

const ended = {
  trail: undefined,
  slowMs: 1000,
  mayBeSlow: true,
  isFailed: false,
  isAborted: false,
  startedAt: 0,
  durationMs: 5,
  status: 200,
  site: 'shop',
  method: 'GET',
  path: '/',
  requestId: () => 'id',
}
const all = { limit: 100_000 }

test('slow and failed requests are recorded, and of the others a sample, at most one a second', () => {
  const log = new FlowLog()
  for (let i = 0; i < 1000; i++) log.ended({ ...ended, startedAt: i })
  assert.deepEqual(
    log.list(all).map(({ reason }) => reason),
    ['sample'],
  )
  for (let i = 0; i < 1000; i++) log.ended({ ...ended, startedAt: 2000 + i })
  assert.equal(log.list(all).length, 2)
  log.ended({ ...ended, durationMs: 1000, path: '/slow' })
  log.ended({ ...ended, durationMs: 10_000, mayBeSlow: false, path: '/events' })
  log.ended({ ...ended, isFailed: true, path: '/failed' })
  const found = log.list(all).filter(({ reason }) => reason !== 'sample')
  assert.deepEqual(found.map(({ path, reason }) => `${path} ${reason}`).toSorted(), ['/failed failed', '/slow slow'])
})

test('a site whose requests all fail pushes out its own flows only, and long names are cut', () => {
  const log = new FlowLog()
  log.ended({ ...ended, isFailed: true, site: 'calm' })
  const long = 'x'.repeat(100_000)
  for (let i = 0; i < 5_000; i++)
    log.ended({ ...ended, isFailed: true, site: 'loud', path: long, method: long, requestId: () => long })
  const found = log.list(all)
  assert.equal(found.length, 500)
  assert.equal(log.list({ ...all, sites: ['calm'] }).length, 1)
  assert.ok(JSON.stringify(found[0]).length < 2_000)
})

test('pages go on behind the last flow of the one before, also among flows of the same time', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const log = new FlowLog()
  for (let i = 0; i < 25; i++) {
    log.ended({ ...ended, isFailed: true, requestId: () => `id-${(i * 7) % 25}` })
    if (i % 10 === 9) t.mock.timers.tick(1)
  }
  const found: string[] = []
  for (let before: FlowPlace | undefined; ; ) {
    const page = log.list({ limit: 4, ...(before === undefined ? {} : { before }) })
    if (page.length === 0) break
    found.push(...page.map(({ request_id: id }) => id))
    before = page.at(-1)
    log.ended({ ...ended, isFailed: true, requestId: () => 'later', durationMs: -1 })
  }
  assert.equal(new Set(found).size, 25)
  assert.equal(found.length, 25)
})

test('stages have bounds too, and the trail of one request does not show in the next', () => {
  const log = new FlowLog()
  let trail = log.enter(undefined, 'isr', 'ok')
  for (let i = 0; i < 100; i++) trail = log.enter(trail, 'render', 'miss')
  log.ended({ ...ended, trail, isFailed: true, path: '/many' })
  const next = log.enter(undefined, 'write', 'ok')
  assert.equal(next, trail, 'it is used again')
  log.ended({ ...ended, trail: next, isFailed: true, isAborted: true, path: '/few' })
  const stages = (path: string) => log.list(all).find((flow) => flow.path === path)?.stages ?? []
  assert.equal(stages('/many').length, 17)
  assert.deepEqual(
    stages('/few').map(({ name, outcome }) => `${name} ${outcome}`),
    ['l0 ok', 'write aborted'],
  )
})

test('the wait for a place in a render host is a stage of its own', () => {
  const log = new FlowLog()
  const stages = (path: string, ...steps: (string | boolean)[]) => {
    let trail = log.enter(undefined, 'router', 'miss')
    for (const step of steps) {
      trail = typeof step === 'string' ? log.enter(trail, step, 'ok') : (log.queued(trail, step) ?? assert.fail('a trail'))
    }
    log.ended({ ...ended, trail, isFailed: true, path })
    return log
      .list(all)
      .find((flow) => flow.path === path)
      ?.stages.map(({ name }) => name)
  }
  assert.deepEqual(stages('/1', 'middleware', true, false, 'router', 'render', true, false, true, false, 'write'), [
    'l0',
    'router',
    'queue',
    'middleware',
    'router',
    'queue',
    'queue',
    'render',
    'write',
  ])
  assert.deepEqual(stages('/2', 'render', true), ['l0', 'router', 'queue'], 'it never got a place')
  assert.deepEqual(stages('/3', 'render', true, 'write', false), ['l0', 'router', 'queue', 'write'], 'answered meanwhile')
  assert.deepEqual(stages('/4', 'write', true, false), ['l0', 'router', 'write'])
  assert.equal(log.queued(undefined, true), undefined)
})

test('a reader gets new flows in batches, and the number of those that came too fast', async () => {
  const log = new FlowLog()
  const clock = new ManualClock()
  const sent: { dropped: unknown; paths: string[] }[] = []
  const room = Promise.withResolvers<void>()
  let abort: () => void = assert.fail
  const call = {
    send: (dropped: unknown, batch?: Uint8Array | string) => {
      sent.push({ dropped, paths: JSON.parse(String(batch)).map(({ path }: { path: string }) => path) })
      return sent.length !== 2
    },
    drained: () => room.promise,
    onAbort: (listener: () => void) => {
      abort = listener
    },
  }
  const fail = (path: string) => log.ended({ ...ended, isFailed: true, path })
  fail('/before')
  const following = log.follow(call, clock)
  fail('/one')
  fail('/two')
  log.ended({ ...ended, startedAt: 1, path: '/fast' })
  const round = async () => {
    clock.advance(100)
    await turn()
  }
  await round()
  assert.deepEqual(sent, [{ dropped: 0, paths: ['/one', '/two', '/fast'] }])
  for (let i = 0; i < 10_000; i++) fail('/flood')
  await round()
  assert.deepEqual([sent[1]?.paths.length, sent[1]?.dropped], [100, 9_900])
  for (let i = 0; i < 10_000; i++) fail('/flood')
  await round()
  assert.equal(sent.length, 2, 'the reader takes no more')
  room.resolve()
  await turn()
  await round()
  assert.deepEqual([sent[2]?.paths.length, sent[2]?.dropped], [100, 9_900])
  abort()
  await following
  fail('/after')
  assert.equal(clock.timers, 0)
})
