import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import {
  AppError,
  CloseStack,
  codeOf,
  delayMs,
  fromWire,
  guard,
  messageOf,
  noFailures,
  recordFailure,
  SingleFlight,
  toWire,
  withDeadline,
} from '../src/index.ts'

test('a close stack releases in reverse, reports what fails or is late, and runs the rest', async () => {
  const order: string[] = []
  const failed: string[] = []
  const stack = new CloseStack((step, error) => failed.push(`${step}: ${messageOf(error)}`), 10)
  stack.push('first', () => void order.push('first'))
  stack.push('throws', () => {
    throw new Error('broken')
  })
  stack.push('late', () => new Promise(() => undefined))
  stack.push('last', async () => void order.push('last'))
  assert.equal(stack.isClosing, false)
  await Promise.all([stack.close(), stack.close()])
  assert.equal(stack.isClosing, true)
  assert.deepEqual(order, ['last', 'first'])
  assert.deepEqual(failed, ['late: close of late took longer than 10 ms', 'throws: broken'])
})

test('a resource acquired while the stack closes is released too', async () => {
  const order: string[] = []
  const stack = new CloseStack(() => assert.fail('nothing fails'))
  stack.push('outer', () => {
    order.push('outer')
    stack.push('inner', () => void order.push('inner'))
  })
  await stack.close()
  assert.deepEqual(order, ['outer', 'inner'])
})

test('a resource acquired after the stack has closed is released at once', async () => {
  const order: string[] = []
  const stack = new CloseStack((step) => order.push(`failed ${step}`))
  await stack.close()
  stack.push('late', () => void order.push('late'))
  stack.push('broken', () => Promise.reject(new Error('x')))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(order, ['late', 'failed broken'])
})

test('waits double from the second failure on, up to the most, and begin again after a quiet time', () => {
  const policy = { firstMs: 100, maxMs: 1000, resetAfterMs: 60_000 }
  let state = noFailures
  const waits: number[] = []
  for (let i = 0; i < 7; i++) {
    state = recordFailure(state, policy, i)
    waits.push(delayMs(state, policy))
  }
  assert.deepEqual(waits, [0, 100, 200, 400, 800, 1000, 1000])
  assert.equal(delayMs(recordFailure(state, policy, 6 + 60_000), policy), 1000)
  assert.equal(delayMs(recordFailure(state, policy, 6 + 60_001), policy), 0)
})

test('a deadline rejects with its name, and passes on what came in time', async () => {
  await assert.rejects(withDeadline(new Promise(() => undefined), 5, 'waiting'), { code: 'CORE_TIMEOUT', message: /waiting/ })
  assert.equal(await withDeadline(Promise.resolve(1), 5000, 'x'), 1)
  await assert.rejects(withDeadline(Promise.reject(new Error('own')), 5000, 'x'), /own/)
})

test('a deadline that passes while the process itself is held up counts what came meanwhile', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.after(() => port1.close())
  const came = new Promise((resolve) => port1.once('message', resolve))
  // Timers come right after immediates, before messages are looked at.
  const inTime = new Promise((resolve, reject) => {
    setImmediate(() => {
      withDeadline(came, 20, 'a message').then(resolve, reject)
      port2.postMessage('there')
      const until = performance.now() + 60
      while (performance.now() < until);
    })
  })
  assert.equal(await inTime, 'there')
})

test('an error crosses a boundary with everything but its class', () => {
  const error = new AppError('X_Y', 'no', { status: 404, retryable: true, exposable: true }, { data: { a: 1 } })
  const back = fromWire(structuredClone(toWire(error)))
  assert.deepEqual(
    {
      code: back.code,
      message: back.message,
      status: back.status,
      retryable: back.retryable,
      exposable: back.exposable,
      data: back.data,
    },
    { code: 'X_Y', message: 'no', status: 404, retryable: true, exposable: true, data: { a: 1 } },
  )
  assert.equal(back.stack, error.stack)
  assert.equal(toWire('text').code, 'INTERNAL')
  assert.equal(toWire({ code: 'E', message: 'm' }).message, 'm')
  assert.equal(codeOf(null), undefined)
  assert.equal(codeOf({ code: 5 }), undefined)
})

test('single flight joins callers, forgets results and does not keep failures', async () => {
  const flights = new SingleFlight<string, number>()
  let runs = 0
  const task = async () => ++runs
  assert.deepEqual(await Promise.all([flights.run('a', task), flights.run('a', task), flights.run('b', task)]), [1, 1, 2])
  assert.equal(await flights.run('a', task), 3)
  await assert.rejects(flights.run('a', () => Promise.reject(new Error('x'))))
  assert.equal(flights.size, 0)
})

test('guards name the first mismatch by its path', () => {
  const shape = guard.object({
    id: guard.string,
    kind: guard.oneOf('a', 'b'),
    list: guard.arrayOf(guard.object({ n: guard.nullable(guard.number) })),
    map: guard.optional(guard.recordOf(guard.boolean)),
  })
  const good = { id: 'x', kind: 'a', list: [{ n: 1 }, { n: null }], map: { y: true }, extra: 1 }
  assert.equal(shape(good), good)
  const cases: [unknown, string][] = [
    [null, 'message: expected object, got null'],
    [{ ...good, id: 1 }, 'message.id: expected string, got number'],
    [{ ...good, kind: 'c' }, 'message.kind: expected a | b, got string'],
    [{ ...good, list: {} }, 'message.list: expected array, got object'],
    [{ ...good, list: [{ n: 1 }, { n: '1' }] }, 'message.list[1].n: expected number, got string'],
    [{ ...good, map: { y: 1 } }, 'message.map.y: expected boolean, got number'],
    [{ ...good, map: [] }, 'message.map: expected object, got object'],
  ]
  for (const [value, message] of cases) assert.throws(() => shape(value), { code: 'CORE_PROTOCOL', message })
})
