import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ScanTurns } from '../src/host/scan-turns.ts'

/** Tasks that run until the test ends them, on a clock of the test. */
function setup() {
  let now = 0
  const turns = new ScanTurns(() => now)
  const running = new Map<string, () => void>()
  const start = (root: string) => turns.run(root, () => new Promise<void>((resolve) => running.set(root, resolve)))
  const end = async (root: string, task: Promise<void>) => {
    running.get(root)?.()
    running.delete(root)
    await task
  }
  return { start, end, running: () => [...running.keys()], pass: (ms: number) => (now += ms) }
}

/** Lets tasks whose turn it is begin. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('sites that take long again and again leave places for those that do not', async () => {
  const { start, end, running, pass } = setup()
  const slow = ['a', 'b', 'c', 'd']
  const first = slow.map((root) => ({ root, task: start(root) }))
  await turn()
  assert.deepEqual(running(), slow)
  pass(10_000)
  for (const { root, task } of first) await end(root, task)
  const again = slow.map((root) => ({ root, task: start(root) }))
  await turn()
  assert.deepEqual(running(), ['a', 'b'])
  const quick = start('quick')
  await turn()
  assert.deepEqual(running(), ['a', 'b', 'quick'])
  await end('quick', quick)
  await end('a', again[0]?.task as Promise<void>)
  await turn()
  assert.deepEqual(running(), ['b', 'c'])
})

test('a site that took long is one like others after a while', async () => {
  const { start, end, running, pass } = setup()
  const roots = ['a', 'b', 'c']
  const first = roots.map((root) => ({ root, task: start(root) }))
  await turn()
  pass(10_000)
  for (const { root, task } of first) await end(root, task)
  pass(120_000)
  for (const root of roots) void start(root)
  await turn()
  assert.deepEqual(running(), roots)
})

test('a task that fails gives its place away, and its error to its caller', async () => {
  const { start, running } = setup()
  const turns = new ScanTurns()
  for (let i = 0; i < 10; i++) {
    await assert.rejects(
      turns.run('a', () => Promise.reject(new Error('no'))),
      /no/,
    )
  }
  for (const root of ['a', 'b', 'c', 'd', 'e']) void start(root)
  await turn()
  assert.deepEqual(running(), ['a', 'b', 'c', 'd'])
})
