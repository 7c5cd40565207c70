import { crc32 } from 'node:zlib'
import type { StoredEntry } from '../store/entry.ts'
import { deadlineOf } from '../store/freshness.ts'
import { type Counts, readCounts, writeCounts } from './counts.ts'
import { type Databases, inTransaction } from './databases.ts'
import { decodeHead, decodeRecord, type EntryHead, encodeHead, encodeRecord, type NewEntry } from './entry-codec.ts'
import { idOf, pathText, ROW, rowKey, rowKeysOf } from './index-keys.ts'
import { accessKey, accessStamp, deadlineKey } from './schedule.ts'
import { varianceKey } from './variances.ts'

/** One byte where only the key of a row matters: lmdb has no empty values. */
const PRESENT = Buffer.of(1)

/** Changes to the store inside one write transaction: entry, index, schedule and counters always agree. */
export class StoreTransaction {
  readonly #databases: Databases
  readonly #counts: Counts

  private constructor(databases: Databases) {
    this.#databases = databases
    this.#counts = readCounts(databases)
  }

  /** Runs `work` and commits; when it throws, nothing has happened. */
  static run<Result>(databases: Databases, work: (transaction: StoreTransaction) => Result): Result {
    return inTransaction(databases, () => {
      const transaction = new StoreTransaction(databases)
      const result = work(transaction)
      writeCounts(databases, transaction.#counts)
      return result
    })
  }

  get counts(): Readonly<Counts> {
    return this.#counts
  }

  head(id: Buffer): EntryHead | undefined {
    const bytes = this.#databases.heads.getBinary(id)
    return bytes === undefined ? undefined : decodeHead(bytes)
  }

  /** Stores an entry in place of the one that has its key. */
  write(entry: NewEntry, { graceMs, now }: { graceMs: number; now: number }): void {
    const { facts } = entry
    const id = idOf(entry.key)
    this.#remove(id)
    const { record, factsBytes } = encodeRecord(entry)
    this.#counts.lastStamp = accessStamp(now, this.#counts.lastStamp)
    const head: EntryHead = {
      isDead: false,
      isMarkedStale: facts.isMarkedStale,
      isQueryKeyed: facts.isQueryKeyed,
      checksum: crc32(record),
      accessStamp: this.#counts.lastStamp,
      deadlineAt: Math.ceil(deadlineOf(facts, graceMs) ?? 0),
      seq: facts.seq,
      recordBytes: record.byteLength,
      factsBytes,
    }
    const { records, index, schedule } = this.#databases
    records.putSync(id, record)
    for (const row of rowKeysOf(facts)) index.putSync(row, id)
    const deadline = deadlineKey(id, head)
    if (deadline !== undefined) schedule.putSync(deadline, PRESENT)
    this.#schedule(id, head)
    this.#count(head, 1)
  }

  /** Makes an entry read as a miss; the rest of it is cleared away later. */
  bury(id: Buffer, head: EntryHead): void {
    this.#databases.heads.putSync(id, encodeHead({ ...head, isDead: true }))
    this.#count(head, -1)
  }

  markStale(id: Buffer, head: EntryHead): void {
    this.#databases.heads.putSync(id, encodeHead({ ...head, isMarkedStale: true }))
  }

  /** Notes an access, when it is later than what is known. */
  touch(id: Buffer, stamp: number): void {
    const head = this.head(id)
    if (head === undefined || head.isDead || head.accessStamp >= stamp) return
    this.#databases.schedule.removeSync(accessKey(id, head))
    this.#schedule(id, { ...head, accessStamp: stamp })
  }

  /** Takes away all that belongs to an id. */
  clear(id: Buffer): void {
    const entry = this.#remove(id)
    if (entry !== undefined) this.#forgetVariance(entry)
  }

  #schedule(id: Buffer, head: EntryHead): void {
    this.#databases.schedule.putSync(accessKey(id, head), PRESENT)
    this.#databases.heads.putSync(id, encodeHead(head))
  }

  #remove(id: Buffer): StoredEntry | undefined {
    const head = this.head(id)
    if (head === undefined) return undefined
    const { heads, records, index, schedule } = this.#databases
    const record = records.getBinary(id)
    const entry = record === undefined ? undefined : decodeRecord(head, record).entry
    if (entry !== undefined) for (const row of rowKeysOf(entry)) index.removeSync(row, id)
    const deadline = deadlineKey(id, head)
    if (deadline !== undefined) schedule.removeSync(deadline)
    schedule.removeSync(accessKey(id, head))
    heads.removeSync(id)
    records.removeSync(id)
    if (!head.isDead) this.#count(head, -1)
    return entry
  }

  /** A variance record goes with the last entry of its path: the next render writes it anew. */
  #forgetVariance({ label, path }: StoredEntry): void {
    if (path === '') return
    const { index, variances } = this.#databases
    if (index.getBinary(rowKey(ROW.path, pathText(path, label))) === undefined) variances.removeSync(varianceKey(label, path))
  }

  #count(head: EntryHead, sign: 1 | -1): void {
    this.#counts.entries += sign
    this.#counts.bytes += sign * head.recordBytes
    if (!head.isQueryKeyed) return
    this.#counts.queryEntries += sign
    this.#counts.queryBytes += sign * head.recordBytes
  }
}
