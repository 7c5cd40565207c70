import type { TestContext } from 'node:test'
import type { Clock } from '@svc/core'
import { EntryStore, type EntryStoreOptions } from '../../src/index.ts'

/** Options of a store with room for all that a test puts. */
export function roomy(cacheDir: string, options: Partial<EntryStoreOptions> = {}): EntryStoreOptions {
  return { cacheDir, maxEntries: 10_000, maxBytes: 64 << 20, graceMs: 0, ...options }
}

/** Opens a store that is closed with the test. */
export async function openStore(t: TestContext, options: EntryStoreOptions): Promise<EntryStore> {
  const store = await EntryStore.open(options)
  t.after(() => store.close())
  return store
}

/** A clock that stands still until it is told otherwise; timers run when their time comes. */
export class HandClock implements Clock {
  #now = 1_000_000
  readonly #timers = new Map<() => void, number>()

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  after(delayMs: number, task: () => void): () => void {
    this.#timers.set(task, this.#now + delayMs)
    return () => this.#timers.delete(task)
  }

  /** Moves on and runs what is due, also what becomes due meanwhile. */
  pass(ms: number): void {
    this.#now += ms
    for (const [task, dueAt] of this.#timers) {
      if (dueAt > this.#now) continue
      this.#timers.delete(task)
      task()
    }
  }
}
