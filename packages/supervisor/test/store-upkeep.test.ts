import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '@svc/core'
import { createLogger } from '@svc/telemetry'
import { StoreUpkeep } from '../src/master/store-upkeep.ts'

/** A clock with at most one timer, which runs when the test says so. */
class OneTimer implements Clock {
  task: (() => void) | undefined
  now = () => 0
  monotonic = () => 0

  after(_delayMs: number, task: () => void): () => void {
    assert.equal(this.task, undefined, 'one look at a time')
    this.task = task
    return () => {
      this.task = undefined
    }
  }

  run(): void {
    const { task } = this
    assert.ok(task, 'a look is due')
    this.task = undefined
    task()
  }
}

function setup() {
  const clock = new OneTimer()
  const store = { needsEviction: false, evictions: 0, readers: 0, pending: Promise.withResolvers<number>() }
  const room = {
    get needsEviction() {
      return store.needsEviction
    },
    evict: () => {
      store.evictions++
      return store.pending.promise
    },
    checkReaders: () => ++store.readers,
    usages: () => [],
  }
  const logger = createLogger({ level: 'silent', format: 'json', base: {} })
  const upkeep = new StoreUpkeep({ room, name: 'isr', bounds: { maxEntries: 1, maxBytes: 1 }, clock, logger })
  return { clock, store, upkeep }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('the store is evicted from when it has too much, one eviction at a time, also after one that failed', async () => {
  const { clock, store, upkeep } = setup()
  upkeep.start()
  clock.run()
  assert.equal(store.evictions, 0)
  store.needsEviction = true
  clock.run()
  assert.equal(store.evictions, 1)
  assert.equal(clock.task, undefined, 'no look while it evicts')
  store.pending.reject(new Error('full'))
  await turn()
  store.pending = Promise.withResolvers()
  clock.run()
  assert.equal(store.evictions, 2)
  store.pending.resolve(1)
  await turn()
  assert.ok(clock.task)
})

test('now and then what has expired is cleared away, though there is not too much', async () => {
  const { clock, store, upkeep } = setup()
  store.pending.resolve(0)
  upkeep.start()
  for (let look = 1; look <= 60; look++) {
    clock.run()
    await turn()
  }
  assert.equal(store.evictions, 2)
})

test('the end of a process frees its readers; after the close nothing is done any more', async () => {
  const { clock, store, upkeep } = setup()
  upkeep.start()
  upkeep.processEnded()
  assert.equal(store.readers, 1)
  store.needsEviction = true
  clock.run()
  upkeep.close()
  store.pending.resolve(1)
  await turn()
  assert.equal(clock.task, undefined)
  upkeep.processEnded()
  assert.equal(store.readers, 1)
})
