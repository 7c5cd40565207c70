// Campaign: kills of processes that share a store.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { tempDir } from '@svc/testkit'
import { factsOf, purgeOf } from '../entries.ts'
import type { Answer, Question } from './answer-program.ts'
import { joinWhileWritten, killOwner, killWhileInUse } from './killed-writers.ts'
import { openStore, roomy } from './store-fixture.ts'

const ROUNDS = 300
const KILLS = 10

/** A process that has joined the store and reads all the time. */
interface Answering {
  readonly ask: (question: Question) => Promise<Answer>
  readonly kill: () => Promise<void>
}

async function startAnswering(t: TestContext, cacheDir: string): Promise<Answering> {
  const program = fileURLToPath(new URL('./answer-program.ts', import.meta.url))
  const child: ChildProcess = fork(program, [cacheDir], { execArgv: ['--disable-warning=ExperimentalWarning'] })
  const ended = once(child, 'exit').then(([code]) => assert.fail(`the other process ended with ${code}`))
  let settle: (answer: Answer) => void = () => undefined
  child.on('message', (answer: Answer) => settle(answer))
  const received = (): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    settle = resolve
    return Promise.race([promise, ended])
  }
  const kill = async () => {
    ended.catch(() => undefined)
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
    child.kill('SIGKILL')
    await exited
  }
  t.after(kill)
  await received()
  const ask = (question: Question) => {
    const answer = received()
    child.send(question)
    return answer
  }
  return { ask, kill }
}

describe('a store in several processes', () => {
  it('frees what a killed reader has held', async (t) => {
    const cacheDir = tempDir(t)
    const store = await openStore(t, roomy(cacheDir))
    const { kill } = await startAnswering(t, cacheDir)
    assert.equal(store.room.checkReaders(), 0)
    await kill()
    assert.equal(store.room.checkReaders(), 1)
  })

  it('shows another process what was put, as soon as the put has resolved', async (t) => {
    const cacheDir = tempDir(t)
    const store = await openStore(t, roomy(cacheDir))
    const { ask } = await startAnswering(t, cacheDir)
    for (let seq = 1; seq <= ROUNDS; seq++) {
      await store.put('a', factsOf({ seq }), Buffer.alloc(2_000))
      assert.deepEqual(await ask({ kind: 'read', key: 'a' }), { seq })
    }
  })

  it('shows what another process has put', async (t) => {
    const cacheDir = tempDir(t)
    const store = await openStore(t, roomy(cacheDir))
    const { ask } = await startAnswering(t, cacheDir)
    for (let seq = 1; seq <= ROUNDS; seq++) {
      store.get('a')
      await ask({ kind: 'put', key: 'a', seq })
      store.refresh()
      assert.equal(store.get('a')?.seq, seq)
    }
  })

  it('shows no process what was purged, once the purge has resolved', async (t) => {
    const cacheDir = tempDir(t)
    const store = await openStore(t, roomy(cacheDir))
    const { ask } = await startAnswering(t, cacheDir)
    for (let number = 1; number <= ROUNDS; number++) {
      await store.put('a', factsOf(), Buffer.alloc(2_000))
      if (number % 2 === 0) await ask({ kind: 'purge', number })
      else await store.purge(purgeOf(number, { kind: 'tags', tags: ['route:blog:/hello'] }))
      assert.deepEqual(await ask({ kind: 'read', key: 'a' }), { seq: null })
      store.refresh()
      assert.equal(store.get('a'), undefined)
    }
  })
})

describe('opening a store', () => {
  it('does not disturb its writers', async (t) => {
    assert.ok((await joinWhileWritten(t, tempDir(t), 100)) > 0)
  })
})

describe('killed writers', () => {
  it('leave every entry whole and the counters true, while others use the store', async (t) => {
    const cacheDir = tempDir(t)
    let entries = 0
    for (let round = 0; round < KILLS / 2; round++) entries += await killWhileInUse(t, cacheDir, Math.random)
    assert.ok(entries > 0)
  })

  it('leave a store that opens unchanged', async (t) => {
    const cacheDir = tempDir(t)
    for (let round = 0; round < KILLS; round++) await killOwner(t, cacheDir, Math.random)
  })
})
