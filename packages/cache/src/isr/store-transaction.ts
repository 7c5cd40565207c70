import type { EntryFacts, StoredEntry } from '../store/entry.ts'
import { deadlineOf } from '../store/freshness.ts'
import { type Counts, readCounts, writeCounts } from './counts.ts'
import { type Databases, inTransaction } from './databases.ts'
import { decodeHead, decodeRecord, type EntryHead, encodeHead, encodeRecord } from './entry-codec.ts'
import { idOf, pathText, ROW, rowKey, rowKeysOf } from './index-keys.ts'
import { dueKeysOf } from './schedule.ts'
import { varianceKey } from './variances.ts'

/** One byte where only the key of a row matters: lmdb has no empty values. */
const PRESENT = Buffer.of(1)

/** An entry on its way into the store. */
export interface NewEntry {
  readonly key: string
  readonly facts: EntryFacts
  readonly body: Uint8Array
}

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
  write({ key, facts, body }: NewEntry, { graceMs, now }: { graceMs: number; now: number }): void {
    const id = idOf(key)
    this.#remove(id)
    const { record, factsBytes } = encodeRecord(key, facts, body)
    const deadline = deadlineOf(facts, graceMs)
    const head: EntryHead = {
      isDead: false,
      isMarkedStale: facts.isMarkedStale,
      isQueryKeyed: facts.isQueryKeyed,
      accessedAtSeconds: toSeconds(now),
      deadlineSeconds: deadline === null ? 0 : toSeconds(deadline) + 1,
      recordBytes: record.byteLength,
      factsBytes,
      seq: facts.seq,
    }
    const { heads, records, index, schedule } = this.#databases
    heads.putSync(id, encodeHead(head))
    records.putSync(id, record)
    for (const row of rowKeysOf(facts)) index.putSync(row, id)
    for (const due of dueKeysOf(id, head)) schedule.putSync(due, PRESENT)
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

  /** Takes away all that belongs to an id. Returns whether there was an entry that could be read. */
  clear(id: Buffer): boolean {
    const removed = this.#remove(id)
    if (removed === undefined) return false
    if (removed.entry !== undefined) this.#forgetVariance(removed.entry)
    return !removed.head.isDead
  }

  #remove(id: Buffer): { head: EntryHead; entry: StoredEntry | undefined } | undefined {
    const head = this.head(id)
    if (head === undefined) return undefined
    const { heads, records, index, schedule } = this.#databases
    const record = records.getBinary(id)
    const entry = record === undefined ? undefined : decodeRecord(head, record).entry
    if (entry !== undefined) for (const row of rowKeysOf(entry)) index.removeSync(row, id)
    for (const due of dueKeysOf(id, head)) schedule.removeSync(due)
    heads.removeSync(id)
    records.removeSync(id)
    if (!head.isDead) this.#count(head, -1)
    return { head, entry }
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

function toSeconds(ms: number): number {
  return Math.min(0xffff_fffe, Math.max(0, Math.floor(ms / 1000)))
}
