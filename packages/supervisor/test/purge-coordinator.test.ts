import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { BegunPurge, Purge, PurgeOrder } from '@svc/cache'
import { type Clock, CoreError } from '@svc/core'
import { createLogger } from '@svc/telemetry'
import { PROCESS_WAIT_MS, tempDir, waitFor } from '@svc/testkit'
import type { PurgeMember } from '../../processes/src/purges/purge-member.ts'
import { PurgeCoordinator } from '../src/purges/purge-coordinator.ts'
import { PurgeNumbers } from '../src/purges/purge-numbers.ts'

const order: PurgeOrder = { layers: ['isr'], scopes: [{ kind: 'everything' }], mode: 'drop' }
const l0Order: PurgeOrder = { ...order, layers: ['l0'] }
const logger = createLogger({ level: 'silent', format: 'json', base: {} })

/** A clock whose timers run when the test says so. */
class ManualClock implements Clock {
  #now = 0
  readonly #timers = new Set<{ readonly at: number; readonly task: () => void }>()

  now = () => 1_000_000 + this.#now
  monotonic = () => this.#now

  after(delayMs: number, task: () => void): () => void {
    const timer = { at: this.#now + delayMs, task }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Lets time pass; with `lateMs` the timers of the time run that much too late. */
  pass(ms: number, lateMs = 0): void {
    const due = [...this.#timers].filter(({ at }) => at <= this.#now + ms)
    this.#now += ms + lateMs
    for (const timer of due) if (this.#timers.delete(timer)) timer.task()
  }

  get pending(): number {
    return this.#timers.size
  }
}

/** A process that answers when the test says so. */
class ScriptedMember implements PurgeMember {
  readonly name: string
  isBooting = false
  isKilled = false
  readonly asked: Purge[] = []
  readonly settledNumbers: number[] = []
  readonly #log: string[]
  readonly #answers: PromiseWithResolvers<number>[] = []
  readonly #exit = Promise.withResolvers<void>()
  exited: Promise<unknown> = this.#exit.promise

  constructor(name: string, log: string[] = []) {
    this.name = name
    this.#log = log
  }

  purge(purge: Purge): Promise<number> {
    this.asked.push(purge)
    this.#log.push(`${this.name} asked ${this.asked.length}`)
    const answer = Promise.withResolvers<number>()
    this.#answers.push(answer)
    return answer.promise
  }

  settled(number: number): void {
    this.settledNumbers.push(number)
  }

  kill(): void {
    this.isKilled = true
  }

  /** Answers the n-th purge. */
  answer(index = 0, dropped = 0): void {
    this.#answers[index]?.resolve(dropped)
  }

  refuse(error: Error): void {
    this.#answers[0]?.reject(error)
  }

  end(): void {
    this.#exit.resolve()
  }
}

class ScriptedStore {
  readonly purged: Purge[] = []
  result: () => Promise<number> = async () => 7
  /** Set: the store counts at once and follows then. */
  followed: Promise<void> | undefined

  purge(purge: Purge): Promise<number> {
    this.purged.push(purge)
    return this.result()
  }

  async beginPurge(purge: Purge): Promise<BegunPurge> {
    return { count: await this.purge(purge), followed: this.followed }
  }
}

class EmptyStore {
  async purge(): Promise<number> {
    return 0
  }

  async beginPurge(): Promise<BegunPurge> {
    return { count: 0, followed: undefined }
  }
}

async function setup(t: TestContext, members: { readonly hosts?: PurgeMember[]; readonly workers?: PurgeMember[] }) {
  const clock = new ManualClock()
  const store = new ScriptedStore()
  const numbers = await PurgeNumbers.open(join(tempDir(t), 'purge-number'), 100)
  const done: Purge[] = []
  const coordinator = new PurgeCoordinator({
    numbers,
    stores: { isr: store, proxy: new EmptyStore() },
    hosts: () => members.hosts ?? [],
    workers: () => members.workers ?? [],
    onDone: (purge) => done.push(purge),
    clock,
    logger,
    ackTimeoutMs: 1000,
  })
  return { clock, store, coordinator, done }
}

test('a purge goes to hosts first, then to workers, then to the store; then it is answered, and settled everywhere', async (t) => {
  const host = new ScriptedMember('host')
  const worker = new ScriptedMember('worker')
  const { coordinator, store, done } = await setup(t, { hosts: [host], workers: [worker] })
  let isAnswered = false
  const answered = coordinator.purge(order).then((outcome) => {
    isAnswered = true
    return outcome
  })
  await waitFor('the host is asked', () => host.asked.length === 1, PROCESS_WAIT_MS)
  assert.equal(worker.asked.length, 0)
  assert.deepEqual(coordinator.hostState(), { last: 101, unsettled: [{ ...order, number: 101 }] })
  assert.deepEqual(coordinator.workerState(), { last: 100, unsettled: [] })
  host.answer()
  await waitFor('the worker is asked', () => worker.asked.length === 1, PROCESS_WAIT_MS)
  assert.equal(store.purged.length, 0)
  assert.deepEqual(coordinator.workerState(), { last: 101, unsettled: [{ ...order, number: 101 }] })
  assert.equal(isAnswered, false)
  worker.answer(0, 3)
  const outcome = await answered
  assert.deepEqual(
    { ...outcome, tookMs: 0 },
    { number: 101, l0: 3, isr: 7, proxy: 0, workersAcked: 1, workersTotal: 1, instances: { acked: 1, known: 1 }, tookMs: 0 },
  )
  assert.deepEqual([store.purged[0]?.number, host.settledNumbers, worker.settledNumbers], [101, [101], [101]])
  assert.deepEqual(coordinator.workerState(), { last: 101, unsettled: [] })
  assert.deepEqual(done, [{ ...order, number: 101 }])
})

test('a worker that does not answer in time is killed, and the purge is answered only when it has ended', async (t) => {
  const good = new ScriptedMember('good')
  const stuck = new ScriptedMember('stuck')
  const { coordinator, clock, store } = await setup(t, { workers: [good, stuck] })
  const answered = coordinator.purge(order)
  await waitFor('the workers are asked', () => stuck.asked.length === 1, PROCESS_WAIT_MS)
  good.answer(0, 1)
  clock.pass(999)
  assert.equal(stuck.isKilled, false)
  clock.pass(1)
  await waitFor('it is killed', () => stuck.isKilled, PROCESS_WAIT_MS)
  assert.equal(store.purged.length, 0)
  stuck.end()
  const { workersAcked, workersTotal, l0 } = await answered
  assert.deepEqual({ workersAcked, workersTotal, l0 }, { workersAcked: 1, workersTotal: 2, l0: 1 })
  assert.equal(good.isKilled, false)
  assert.equal(clock.pending, 0)
})

test('a host that refuses or has disconnected is killed before the workers get the purge', async (t) => {
  const refusing = new ScriptedMember('refusing')
  const gone = new ScriptedMember('gone')
  const worker = new ScriptedMember('worker')
  const { coordinator } = await setup(t, { hosts: [refusing, gone], workers: [worker] })
  const answered = coordinator.purge(order)
  await waitFor('the hosts are asked', () => gone.asked.length === 1, PROCESS_WAIT_MS)
  refusing.refuse(new Error('no'))
  gone.refuse(new CoreError('CORE_PEER_GONE', 'gone'))
  await waitFor('both are killed', () => refusing.isKilled && gone.isKilled, PROCESS_WAIT_MS)
  assert.equal(worker.asked.length, 0)
  refusing.end()
  gone.end()
  await waitFor('the worker is asked', () => worker.asked.length === 1, PROCESS_WAIT_MS)
  worker.answer()
  await answered
})

test('a process that is starting is not killed: it finds the purge in its pipe before it serves', async (t) => {
  const starting = new ScriptedMember('starting')
  starting.isBooting = true
  const { coordinator, clock } = await setup(t, { workers: [starting] })
  const answered = coordinator.purge(order)
  await waitFor('it is asked', () => starting.asked.length === 1, PROCESS_WAIT_MS)
  clock.pass(1000)
  assert.equal((await answered).workersAcked, 0)
  assert.equal(starting.isKilled, false)
})

test('a master that is blocked itself kills no process for being late', async (t) => {
  const worker = new ScriptedMember('worker')
  const { coordinator, clock } = await setup(t, { workers: [worker] })
  const answered = coordinator.purge(order)
  await waitFor('it is asked', () => worker.asked.length === 1, PROCESS_WAIT_MS)
  clock.pass(1000, 5000)
  assert.equal(worker.isKilled, false)
  worker.answer()
  assert.equal((await answered).workersAcked, 1)
})

test('purges overlap, and every process hears of them in their order', async (t) => {
  const log: string[] = []
  const slow = new ScriptedMember('slow host', log)
  const worker = new ScriptedMember('worker', log)
  const { coordinator } = await setup(t, { hosts: [slow], workers: [worker] })
  const both = Promise.all([coordinator.purge(order), coordinator.purge(order)])
  await waitFor('the host knows both', () => slow.asked.length === 2, PROCESS_WAIT_MS)
  slow.answer(1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(worker.asked.length, 0, 'the second does not overtake the first')
  slow.answer(0)
  await waitFor('the worker knows both', () => worker.asked.length === 2, PROCESS_WAIT_MS)
  assert.deepEqual(
    worker.asked.map(({ number }) => number),
    [101, 102],
  )
  worker.answer(1)
  worker.answer(0)
  assert.deepEqual(
    (await both).map(({ number }) => number),
    [101, 102],
  )
})

test('however many come at once, no process has more before it than it can answer in time', async (t) => {
  const worker = new ScriptedMember('worker')
  const { clock, coordinator } = await setup(t, { workers: [worker] })
  const all = Promise.all(Array.from({ length: 200 }, () => coordinator.purge(l0Order)))
  for (let answered = 0; answered < 200; ) {
    await waitFor('the next ones', () => worker.asked.length > answered, PROCESS_WAIT_MS)
    assert.ok(worker.asked.length - answered <= 16, `${worker.asked.length - answered} at a time`)
    clock.pass(900)
    for (const end = worker.asked.length; answered < end; answered++) worker.answer(answered)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal((await all).length, 200)
  assert.equal(worker.isKilled, false)
})

test('a purge of L0 alone asks neither hosts nor the store', async (t) => {
  const host = new ScriptedMember('host')
  const worker = new ScriptedMember('worker')
  const { coordinator, store } = await setup(t, { hosts: [host], workers: [worker] })
  const answered = coordinator.purge(l0Order)
  await waitFor('the worker is asked', () => worker.asked.length === 1, PROCESS_WAIT_MS)
  worker.answer(0, 4)
  const { l0, isr } = await answered
  assert.deepEqual([l0, isr, host.asked.length, store.purged.length], [4, 0, 0, 0])
})

test("when the store fails the purge fails, and stays in force so that the store's old entries are not used", async (t) => {
  const worker = new ScriptedMember('worker')
  const { coordinator, store } = await setup(t, { workers: [worker] })
  store.result = () => Promise.reject(new Error('disk full'))
  const answered = coordinator.purge(order)
  const refused = assert.rejects(answered, { code: 'SUP_PURGE_FAILED', status: 500 })
  await waitFor('the worker is asked', () => worker.asked.length === 1, PROCESS_WAIT_MS)
  worker.answer()
  await refused
  assert.deepEqual(worker.settledNumbers, [])
  assert.equal(coordinator.workerState().unsettled.length, 1)
})

test('the store catches up on failed purges with the next purge that succeeds', async (t) => {
  const worker = new ScriptedMember('worker')
  const { coordinator, store } = await setup(t, { workers: [worker] })
  const purgeNext = async () => {
    const asked = worker.asked.length
    const answered = coordinator.purge(order)
    await waitFor('the worker is asked', () => worker.asked.length > asked, PROCESS_WAIT_MS)
    worker.answer(asked)
    return answered
  }
  store.result = () => Promise.reject(new Error('disk full'))
  for (let i = 0; i < 2; i++) await assert.rejects(purgeNext(), { code: 'SUP_PURGE_FAILED' })
  store.result = async () => 1
  assert.equal((await purgeNext()).isr, 1)
  assert.deepEqual(
    store.purged.map(({ number }) => number),
    [101, 102, 103, 101, 102],
  )
  assert.deepEqual(worker.settledNumbers.toSorted(), [101, 102, 103])
  assert.deepEqual(coordinator.workerState(), { last: 103, unsettled: [] })
})

test('a purge is answered when the store has counted it, and stays known until the store follows', async (t) => {
  const host = new ScriptedMember('host')
  const { coordinator, store } = await setup(t, { hosts: [host] })
  const { promise, resolve } = Promise.withResolvers<void>()
  store.followed = promise
  const answered = coordinator.purge(order)
  await waitFor('the host is asked', () => host.asked.length === 1, PROCESS_WAIT_MS)
  host.answer()
  assert.equal((await answered).isr, 7)
  assert.deepEqual([coordinator.workerState().unsettled.length, host.settledNumbers], [1, []])
  resolve()
  await waitFor('the host is told', () => host.settledNumbers.length === 1, PROCESS_WAIT_MS)
  assert.deepEqual(coordinator.workerState(), { last: 101, unsettled: [] })
})

test('a purge that the store counted but failed to apply is applied with the next one', async (t) => {
  const { coordinator, store } = await setup(t, {})
  const { promise, reject } = Promise.withResolvers<void>()
  store.followed = promise
  await coordinator.purge(order)
  reject(new Error('disk full'))
  await promise.catch(() => undefined)
  store.followed = undefined
  await coordinator.purge(order)
  assert.deepEqual(
    store.purged.map(({ number }) => number),
    [101, 102, 101],
  )
  assert.deepEqual(coordinator.workerState(), { last: 102, unsettled: [] })
})

test('however many purges the store does not follow, few have to be asked with every read', async (t) => {
  const { coordinator, store } = await setup(t, {})
  store.result = () => Promise.reject(new Error('damaged'))
  const tag = (number: number): PurgeOrder => ({ ...order, scopes: [{ kind: 'tags', tags: [`route:a:${number}`] }] })
  for (let i = 0; i < 350; i++) {
    await assert.rejects(coordinator.purge(tag(i)), { code: 'SUP_PURGE_FAILED' })
    assert.ok(coordinator.workerState().unsettled.length <= 110)
  }
  await waitFor(
    'it is a purge of everything that is left',
    () => {
      const [first] = coordinator.workerState().unsettled
      return first?.scopes[0]?.kind === 'everything'
    },
    PROCESS_WAIT_MS,
  )
})

test('numbers only grow, over restarts, crashes and a lost file', async (t) => {
  const file = join(tempDir(t), 'purge-number')
  const first = await PurgeNumbers.open(file, 500)
  assert.equal(first.last, 500)
  // Entries carry it before there is any purge: a clock that is set back must not fall behind them.
  assert.equal((await PurgeNumbers.open(file, 400)).last, 500)
  const given: number[] = []
  for (let i = 0; i < 1500; i++) given.push(await first.next())
  assert.deepEqual([given[0], given.at(-1), first.last], [501, 2000, 2000])
  assert.ok(given.every((number, i) => i === 0 || number > (given[i - 1] ?? 0)))
  // The first was never told to end: what it reserved counts as used.
  const second = await PurgeNumbers.open(file, 1)
  assert.ok((await second.next()) > 2000)
  for (const damaged of ['', 'x', '-5', '1e400']) {
    writeFileSync(file, damaged)
    assert.equal(await (await PurgeNumbers.open(file, 9_000_000)).next(), 9_000_001)
  }
  rmSync(file)
  assert.equal((await PurgeNumbers.open(file, 10_000_000)).last, 10_000_000)
})
