import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Config } from '@svc/config'
import { CoreError } from '@svc/core'
import type { TaskRequest, TaskResponse } from '@svc/protocol'
import { type Cleanup, ManualClock, tempDir, waitFor } from '@svc/testkit'
import { RunClaims } from '../src/tasks/run-claims.ts'
import { RunHistory } from '../src/tasks/run-history.ts'
import { TaskRunner } from '../src/tasks/task-runner.ts'
import { TaskScheduler } from '../src/tasks/task-scheduler.ts'

type TaskConfig = Config['tasks'][number]
const SECOND = 1_000
const MINUTE = 60_000

const everyMinute: TaskConfig = {
  name: 'a',
  schedule: '* * * * *',
  handler: 'http::POST /tasks/a?x=1',
  enabled: true,
  timeout_secs: 30,
  overlap: 'skip',
}

/** A request of a task that has not been answered. */
interface Asked extends TaskRequest {
  answer(response: TaskResponse): void
  fail(error: Error): void
}

const ok: TaskResponse = { status: 204, location: '' }

/** A scheduler with workers that answer when a test wants them to. */
class Instance {
  readonly clock = new ManualClock(Date.parse('2026-01-01T00:00:30Z'))
  readonly asked: Asked[] = []
  readonly lines: string[] = []
  readonly scheduler: TaskScheduler
  readonly history: RunHistory

  private constructor(history: RunHistory, redis: ConstructorParameters<typeof RunClaims>[0]['redis']) {
    this.history = history
    const write = (facts: object | string, line = String(facts)) => void this.lines.push(line)
    const logger = { error: write, warn: write } as never
    let ids = 0
    const runner = new TaskRunner({
      claims: new RunClaims({ redis, prefix: 'svc:', clock: this.clock, logger }),
      history,
      request: (order) => new Promise((resolve, reject) => this.asked.push({ ...order, answer: resolve, fail: reject })),
      onEnded: () => undefined,
      newId: () => `run-${++ids}`,
      clock: this.clock,
      logger,
    })
    this.scheduler = new TaskScheduler({ runner, history, defaultHost: () => 'first.test', clock: this.clock })
  }

  static async open(
    t: Cleanup,
    dir = tempDir(t),
    redis?: ConstructorParameters<typeof RunClaims>[0]['redis'],
  ): Promise<Instance> {
    const history = await RunHistory.open(dir, { error: () => undefined } as never)
    t.after(() => history.close())
    return new Instance(history, redis)
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms)
    for (let i = 0; i < 5; i++) await turn()
  }

  /** Answers the oldest request. */
  async answer(response: TaskResponse | Error = ok): Promise<void> {
    const asked = this.asked.shift()
    assert.ok(asked, 'a request waits')
    if (response instanceof Error) asked.fail(response)
    else asked.answer(response)
    for (let i = 0; i < 5; i++) await turn()
  }

  states(task = 'a'): string[] {
    return this.scheduler.runs(task).map(({ state, detail }) => (detail === '' ? state : `${state}: ${detail}`))
  }
}

test('a task is requested at the times of its schedule, from its host or that of the first site', async (t) => {
  const instance = await Instance.open(t)
  instance.scheduler.serve([everyMinute, { ...everyMinute, name: 'b', host: 'b.test', handler: 'http::GET /b' }])
  assert.equal(instance.scheduler.list()[0]?.next_run_at, '2026-01-01T00:01:00.000Z')
  await instance.advance(29 * SECOND)
  assert.equal(instance.asked.length, 0)
  await instance.advance(SECOND)
  const facts = instance.asked.map(({ task, method, target, host, timeoutMs }) => [task, method, target, host, timeoutMs])
  assert.deepEqual(facts, [
    ['a', 'POST', '/tasks/a?x=1', 'first.test', 30_000],
    ['b', 'GET', '/b', 'b.test', 30_000],
  ])
  assert.deepEqual(instance.states(), ['running'])
  await instance.answer()
  assert.deepEqual(instance.states(), ['ok'])
  assert.deepEqual(instance.scheduler.list()[0]?.last_run?.due_at, '2026-01-01T00:01:00.000Z')
  await instance.answer()
  await instance.advance(MINUTE)
  assert.equal(instance.asked.length, 2)
})

test('every status but 2xx is a failure, and so are a request without a response and one that comes too late', async (t) => {
  const instance = await Instance.open(t)
  instance.scheduler.serve([everyMinute])
  const answers = [
    { status: 500, location: '' },
    { status: 302, location: '/login' },
    { status: 0, location: '' },
    new CoreError('CORE_TIMEOUT', 'it took longer than 30000 ms'),
    new Error('no worker serves at the moment'),
  ]
  for (const answer of answers) {
    await instance.advance(MINUTE)
    await instance.answer(answer)
    assert.deepEqual(instance.scheduler.failing, ['a'])
  }
  assert.deepEqual(instance.states(), [
    'failed: no worker serves at the moment',
    'failed: no response in 30 s',
    'failed: the response broke off',
    'failed: status 302, a redirect to /login',
    'failed: status 500',
  ])
  assert.equal(instance.lines.filter((line) => line.startsWith('task failed')).length, 5)
  await instance.advance(MINUTE)
  await instance.answer()
  assert.deepEqual(instance.scheduler.failing, [])
})

test('a run that is due while the one before has not ended is skipped, or waits for it', async (t) => {
  const instance = await Instance.open(t)
  instance.scheduler.serve([everyMinute])
  await instance.advance(MINUTE)
  await instance.advance(MINUTE)
  assert.equal(instance.asked.length, 1)
  assert.deepEqual(instance.states(), ['running', 'skipped: the run before it has not ended'])
  await instance.answer()
  instance.scheduler.serve([{ ...everyMinute, overlap: 'queue' }])
  for (let i = 0; i < 3; i++) await instance.advance(MINUTE)
  assert.equal(instance.asked.length, 1)
  assert.deepEqual(instance.states().slice(0, 3), ['waiting', 'waiting', 'running'])
  const [first] = instance.asked
  for (let i = 0; i < 3; i++) {
    await instance.answer()
    await instance.advance(SECOND)
  }
  assert.deepEqual(instance.states().slice(0, 3), ['ok', 'ok', 'ok'])
  const due = instance.scheduler.runs('a').map(({ due_at }) => due_at)
  assert.deepEqual(due.slice(0, 3), due.slice(0, 3).toSorted().reverse(), 'in the order of their times')
  assert.ok(first)
})

test('runs that wait are bounded', async (t) => {
  const instance = await Instance.open(t)
  instance.scheduler.serve([{ ...everyMinute, overlap: 'queue' }])
  for (let i = 0; i < 13; i++) await instance.advance(MINUTE)
  assert.deepEqual(
    instance.states().filter((state) => state.startsWith('skipped')),
    ['skipped: 10 runs wait already', 'skipped: 10 runs wait already'],
  )
})

test('a changed schedule holds from the next reload on; a disabled or removed task is not run, but by hand', async (t) => {
  const instance = await Instance.open(t)
  instance.scheduler.serve([everyMinute])
  instance.scheduler.serve([{ ...everyMinute, schedule: '*/10 * * * * *' }])
  await instance.advance(10 * SECOND)
  assert.equal(instance.asked.length, 1)
  await instance.answer()
  instance.scheduler.serve([{ ...everyMinute, enabled: false }])
  await instance.advance(5 * MINUTE)
  assert.equal(instance.asked.length, 0)
  assert.equal(instance.scheduler.list()[0]?.next_run_at, null)
  const { trigger, state } = await instance.scheduler.run('a')
  assert.deepEqual([trigger, state], ['manual', 'waiting'])
  await turn()
  assert.equal(instance.asked.length, 1)
  await assert.rejects(instance.scheduler.run('a'), { code: 'SUP_TASK_RUNNING' })
  await instance.answer()
  instance.scheduler.serve([])
  await assert.rejects(instance.scheduler.run('a'), { code: 'SUP_UNKNOWN_TASK' })
  assert.throws(() => instance.scheduler.runs('a'), { code: 'SUP_UNKNOWN_TASK' })
})

test('a time that passed while the machine slept is not made up for', async (t) => {
  const instance = await Instance.open(t)
  instance.scheduler.serve([everyMinute])
  await instance.advance(10 * MINUTE + 45 * SECOND)
  assert.equal(instance.asked.length, 0)
  await instance.advance(MINUTE)
  assert.equal(instance.asked.length, 1)
})

test('a thousand tasks of one second all run, some at a time', async (t) => {
  const instance = await Instance.open(t)
  instance.scheduler.serve(Array.from({ length: 1_000 }, (_, i) => ({ ...everyMinute, name: `t${i}` })))
  await instance.advance(30 * SECOND)
  const done = new Set<string>()
  let most = 0
  while (instance.asked.length > 0) {
    most = Math.max(most, instance.asked.length)
    done.add(instance.asked[0]?.task ?? '')
    await instance.answer()
  }
  assert.equal(done.size, 1_000)
  assert.ok(most <= 32, `${most} at a time`)
})

test('the last 50 runs of a task are there after a restart, also behind a line that was cut by a crash', async (t) => {
  const dir = tempDir(t)
  const first = await Instance.open(t, dir)
  first.scheduler.serve([everyMinute])
  for (let i = 0; i < 55; i++) {
    await first.advance(MINUTE)
    await first.answer()
  }
  const runs = first.scheduler.runs('a')
  assert.equal(runs.length, 50)
  await first.history.close()
  const { appendFileSync } = await import('node:fs')
  appendFileSync(`${dir}/task-runs.jsonl`, '{"task":"a","id":"run-')
  const second = await Instance.open(t, dir)
  second.scheduler.serve([everyMinute])
  assert.deepEqual(second.scheduler.runs('a'), runs)
})

test('while Redis is away an instance runs its tasks', async (t) => {
  const redis = { script: () => Promise.reject(new Error('away')) }
  const instance = await Instance.open(t, tempDir(t), redis)
  instance.scheduler.serve([everyMinute])
  await instance.advance(30 * SECOND)
  assert.equal(instance.asked.length, 0, 'Redis may be back in a moment')
  for (let i = 0; i < 5; i++) await instance.advance(SECOND)
  assert.equal(instance.asked.length, 1)
  await instance.answer()
  await instance.advance(MINUTE)
  await instance.answer()
  assert.deepEqual(instance.states(), ['ok', 'ok'])
  assert.deepEqual(instance.lines, ['Redis is away: each instance runs its tasks by itself'])
  await waitFor('nothing is left', () => instance.asked.length === 0)
})
