import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { tempDir } from '@svc/testkit'
import { readCounts } from '../../src/store/counts.ts'
import { closeDatabases, type Databases, inTransaction, openDatabases } from '../../src/store/databases.ts'
import { beginPurge } from '../../src/store/store-purge.ts'
import { StoreTransaction } from '../../src/store/store-transaction.ts'
import { factsOf, purgeOf } from '../entries.ts'

const NOTFOUND = -30798
const BAD_VALSIZE = -30781
const BAD_TXN = -30782
const MAP_FULL = -30792

/** Databases whose next write transactions fail with a code of lmdb, after their work was done. */
class FailingDatabases {
  readonly databases: Databases
  works = 0
  #failures: number[] = []

  private constructor(real: Databases) {
    const transactionSync = <Result>(work: () => Result): Result =>
      real.root.transactionSync(() => {
        const result = work()
        this.works++
        const code = this.#failures.shift()
        if (code !== undefined) throw Object.assign(new Error('a transaction that fails'), { code })
        return result
      })
    this.databases = { ...real, root: Object.create(real.root, { transactionSync: { value: transactionSync } }) }
  }

  static async open(t: TestContext): Promise<FailingDatabases> {
    const real = await openDatabases(tempDir(t), 16 << 20)
    t.after(() => closeDatabases(real))
    return new FailingDatabases(real)
  }

  fail(...codes: number[]): void {
    this.#failures = codes
    this.works = 0
  }

  put(path: string, siteTags: readonly string[]): void {
    const entry = { key: path, facts: factsOf({ path, siteTags }), body: Buffer.from(path) }
    StoreTransaction.run(this.databases, (transaction) => transaction.write(entry, { graceMs: 0, now: 1_000_000 }))
  }

  get entries(): number {
    this.databases.root.resetReadTxn()
    return readCounts(this.databases).entries
  }
}

describe('a transaction that lmdb fails at', () => {
  it('is aborted when it fails again and again, and leaves nothing behind', async (t) => {
    const failing = await FailingDatabases.open(t)
    failing.fail(BAD_VALSIZE, BAD_TXN, NOTFOUND, BAD_VALSIZE)
    assert.throws(() => failing.put('/a', []), { code: BAD_VALSIZE })
    assert.deepEqual([failing.works, failing.entries], [4, 0])
  })

  it('is not tried again for any other reason', async (t) => {
    const failing = await FailingDatabases.open(t)
    failing.fail(MAP_FULL)
    assert.throws(() => failing.put('/a', []), { code: MAP_FULL })
    assert.deepEqual([failing.works, failing.entries], [1, 0])
    assert.throws(
      () =>
        inTransaction(failing.databases, () => {
          throw new Error('of the work itself')
        }),
      /of the work itself/,
    )
    assert.equal(failing.works, 1)
  })

  it('runs once when the second try succeeds', async (t) => {
    const failing = await FailingDatabases.open(t)
    failing.fail(BAD_VALSIZE)
    failing.put('/a', [])
    assert.deepEqual([failing.works, failing.entries], [2, 1])
    const counters = Array.from(failing.databases.counters.getKeys(), String)
    assert.deepEqual(
      [counters.includes('counts'), counters.includes('gap')],
      [true, false],
      'the piece that makes lmdb read its list first is not kept',
    )
  })

  it('of a purge takes each entry, and counts it once, though several tags lead to it', async (t) => {
    const failing = await FailingDatabases.open(t)
    for (const path of ['/a', '/b', '/c']) failing.put(path, ['one', 'two'])
    failing.fail(BAD_VALSIZE)
    const tags = ['route:blog:one', 'route:blog:two']
    const { count, follow } = await beginPurge(failing.databases, purgeOf(1, { kind: 'tags', tags }))
    assert.deepEqual([count, follow], [3, undefined])
    assert.equal(failing.entries, 0)
  })
})
