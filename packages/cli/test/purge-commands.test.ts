// Runs alone: it starts the command very often.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AppError, type RequestOf } from '@svc/core'
import type { controlMethods, PurgeOutcome, RestartStatus } from '@svc/protocol'
import { tempDir, writeFiles } from '@svc/testkit'
import { runSvc } from './run-svc.ts'
import { type ScriptedAnswers, scriptMaster } from './scripted-master.ts'

type PurgeOrder = RequestOf<(typeof controlMethods)['purge']>['order']

const outcome: PurgeOutcome = {
  number: 9,
  l0: 3,
  isr: 1,
  proxy: 0,
  workersAcked: 2,
  workersTotal: 2,
  instances: { acked: 1, known: 1 },
  tookMs: 4.25,
}

/** A directory whose config file leads to a scripted server. */
async function instance(t: TestContext, answers: ScriptedAnswers): Promise<string> {
  const dir = tempDir(t)
  writeFiles(dir, { 'svc.config.toml': '[server]\nrun_dir = "run"\n[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n' })
  await scriptMaster(t, `${dir}/run/control.sock`, answers)
  return dir
}

test('a refusal of the server is a usage error, a failure asks to retry later; neither has a stack trace', async (t) => {
  const cwd = await instance(t, {
    purge: ({ order }) => {
      const isBad = order.layers.includes('l0')
      throw new AppError(isBad ? 'SUP_BAD_PURGE' : 'SUP_PURGE_FAILED', isBad ? '"x" is not a path' : 'the store is full')
    },
    resetApp: () => ({ sites: [], roots: ['/srv/a'], evicted: 0, l0: 0, isr: 0 }),
    flushIsolates: () => {
      throw new AppError('SUP_UNKNOWN_SITE', 'no site "b"; there are: a')
    },
  })
  const [bad, failed, app, flush] = await Promise.all([
    runSvc(['purge', 'l0', '--path', 'x'], { cwd }),
    runSvc(['purge', 'isr', '--tag', 'x'], { cwd }),
    runSvc(['purge', 'app', 'nowhere'], { cwd }),
    runSvc(['isolate', 'flush', 'b'], { cwd }),
  ])
  assert.deepEqual([bad.code, bad.stdout], [64, ''])
  assert.match(bad.stderr, /^svc: "x" is not a path\n/)
  assert.deepEqual([failed.code, failed.stdout, failed.stderr], [75, '', 'svc: the store is full\n'])
  assert.equal(app.code, 64)
  assert.match(app.stderr, /no site has .*\/nowhere; there are: \/srv\/a/)
  assert.deepEqual([flush.code, flush.stderr.split('\n')[0]], [64, 'svc: no site "b"; there are: a'])
})

const orders: readonly [args: string, order: PurgeOrder][] = [
  ['l0', { layers: ['l0'], scopes: [{ kind: 'everything' }], mode: 'drop' }],
  ['l0 --host a.org', { layers: ['l0'], scopes: [{ kind: 'hosts', hosts: ['a.org'] }], mode: 'drop' }],
  ['l0 --path /a --path /b', { layers: ['l0'], scopes: [{ kind: 'paths', paths: ['/a', '/b'], hosts: null }], mode: 'drop' }],
  ['l0 --path /a --host a.org', { layers: ['l0'], scopes: [{ kind: 'paths', paths: ['/a'], hosts: ['a.org'] }], mode: 'drop' }],
  ['l0 --host b.org --host a.org', { layers: ['l0'], scopes: [{ kind: 'hosts', hosts: ['a.org'] }], mode: 'drop' }],
  ['isr --tag posts', { layers: ['isr'], scopes: [{ kind: 'tags', tags: ['posts'] }], mode: 'drop' }],
  ['isr --pattern *', { layers: ['isr'], scopes: [{ kind: 'pattern', pattern: '*', labels: null }], mode: 'drop' }],
  ['proxy --host a.org', { layers: ['proxy'], scopes: [{ kind: 'hosts', hosts: ['a.org'] }], mode: 'drop' }],
  [
    'proxy --host a.org --path /a --prefix /b/ --prefix /c/',
    {
      layers: ['proxy'],
      scopes: [
        { kind: 'paths', paths: ['/a'], hosts: ['a.org'] },
        { kind: 'prefixes', prefixes: ['/b/', '/c/'], hosts: ['a.org'] },
      ],
      mode: 'drop',
    },
  ],
]

test('each purge asks for what its options say', async (t) => {
  const asked: PurgeOrder[] = []
  const cwd = await instance(t, {
    purge: ({ order }) => {
      asked.push(order)
      return outcome
    },
  })
  for (const [args, order] of orders) {
    const { code, stderr } = await runSvc(['purge', ...args.split(' ')], { cwd })
    assert.deepEqual([code, stderr], [0, ''], args)
    assert.deepEqual(asked.pop(), order, args)
  }
})

test('a purge says what was dropped, as text and as JSON', async (t) => {
  const cwd = await instance(t, { purge: () => outcome })
  const [text, json] = await Promise.all([
    runSvc(['purge', 'isr', '--tag', 'posts'], { cwd }),
    runSvc(['purge', 'l0', '--json'], { cwd }),
  ])
  assert.equal(text.stdout, 'dropped 1 entry of isr, also 3 of l0 (2 of 2 workers, 4.3 ms)\n')
  assert.deepEqual(JSON.parse(json.stdout), {
    layer: 'l0',
    purged: 3,
    also: { l0: 0, isr: 1, proxy: 0 },
    workers: { acked: 2, total: 2 },
    instances: { acked: 1, known: 1 },
    took_ms: 4.25,
  })
})

test('a purge of several instances says how many had it, and that Redis was away', async (t) => {
  const outcomes = [
    { ...outcome, instances: { acked: 2, known: 3 }, l2: 'purged' as const },
    { ...outcome, instances: { acked: 1, known: 3 }, l2: 'deferred' as const },
  ]
  const cwd = await instance(t, { purge: () => outcomes.shift() ?? outcome })
  const purge = async () => (await runSvc(['purge', 'isr', '--tag', 'posts'], { cwd })).stdout
  assert.match(await purge(), /^dropped 1 entry of isr, also 3 of l0 \(2 of 2 workers, 2 of 3 instances, 4\.3 ms\)\n$/)
  assert.match(await purge(), /1 of 3 instances, Redis is away: the other instances get the purge when it is back/)
})

test('modules are forgotten by file, by directory or all, with absolute paths', async (t) => {
  const asked: unknown[] = []
  const cwd = await instance(t, {
    purgeModules: (purge) => {
      asked.push(purge)
      return { evicted: 2 }
    },
    resetApp: ({ root }) => ({ sites: [root], roots: [], evicted: 3, l0: 1, isr: 2 }),
    flushIsolates: () => ({ isolates: 1 }),
  })
  const both = await runSvc(['purge', 'modules', '--path', 'x.ts', '--path', '/y.ts', '--site', 'site'], { cwd })
  assert.equal(both.stdout, 'forgot 4 compiled modules\n')
  assert.deepEqual(asked.splice(0), [{ dir: `${cwd}/site` }, { paths: [`${cwd}/x.ts`, '/y.ts'] }])
  await runSvc(['purge', 'modules'], { cwd })
  assert.deepEqual(asked.splice(0), [{}])
  const app = await runSvc(['purge', 'app', 'site', '--json'], { cwd })
  assert.deepEqual(JSON.parse(app.stdout), { layer: 'app', sites: [`${cwd}/site`], purged: 3, also: { l0: 1, isr: 2 } })
  assert.equal((await runSvc(['isolate', 'flush', 'a'], { cwd })).stdout, 'a: 1 isolate replaced\n')
})

test('a rolling restart is followed to its end, and one that fails says how far it came', async (t) => {
  const steps: RestartStatus[] = [
    { id: 'r', state: 'running', replaced: 1, total: 2 },
    { id: 'r', state: 'running', replaced: 1, total: 2 },
    { id: 'r', state: 'done', replaced: 2, total: 2 },
    { id: 'r', state: 'failed', replaced: 1, total: 2, error: 'no memory' },
  ]
  const cwd = await instance(t, {
    restartRenderers: () => ({ id: 'r', state: 'running', replaced: 0, total: 2 }),
    restartStatus: () => {
      const status = steps.shift()
      return { status }
    },
  })
  const done = await runSvc(['workers', 'restart'], { cwd })
  assert.deepEqual(done, {
    code: 0,
    stdout: 'replaced 2 render hosts\n',
    stderr: '1 of 2 render hosts replaced\n2 of 2 render hosts replaced\n',
  })
  const failed = await runSvc(['workers', 'restart', '--json'], { cwd })
  assert.equal(failed.code, 75)
  assert.deepEqual(JSON.parse(failed.stdout), { restart_id: 'r', state: 'failed', replaced: 1, total: 2, error: 'no memory' })
  assert.match(failed.stderr, /svc: 1 of 2 render hosts were replaced: no memory\n$/)
  const gone = await runSvc(['workers', 'restart'], { cwd })
  assert.deepEqual([gone.code, gone.stderr], [69, 'svc: the server was restarted meanwhile\n'])
})
