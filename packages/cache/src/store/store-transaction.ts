import { crc32 } from 'node:zlib'
import type { EntryFacts, Variance } from '../entries/entry.ts'
import { deadlineOf } from '../entries/freshness.ts'
import { CacheError } from '../errors/errors.ts'
import type { PurgeMatcher } from '../purge/match-purge.ts'
import type { Purge } from '../purge/purge.ts'
import { type Counts, readCounts, writeCounts } from './counts.ts'
import { type Databases, inTransaction } from './databases.ts'
import {
  DEAD,
  decodeFacts,
  decodeHead,
  type EntryHead,
  encodeHead,
  encodeRecord,
  HEAD_BYTES,
  isOlderThan,
  type NewEntry,
  STALE,
  setFlag,
} from './entry-codec.ts'
import { idOf, pathText, ROW, rowKey, rowKeysOf } from './index-keys.ts'
import { accessKey, accessStamp, deadlineKey } from './schedule.ts'
import { Shares } from './shares.ts'
import type { Dimension, Usage } from './usage.ts'
import { nextVariance, varianceKey } from './variances.ts'

/** One byte where only the key of a row matters: lmdb has no empty values. */
const PRESENT = Buffer.of(1)

/** @throws CACHE_TORN_ENTRY */
export function readFacts({ records }: Databases, id: Buffer, head: EntryHead): EntryFacts {
  const record = records.getBinaryFast(id)
  if (record?.length !== head.recordBytes)
    throw new CacheError('CACHE_TORN_ENTRY', 'the record of an entry is missing or truncated')
  return decodeFacts(head, record).facts
}

/** Changes to the store inside one write transaction: entry, index, schedule and counters always agree. */
export class StoreTransaction {
  readonly #databases: Databases
  readonly #counts: Counts
  readonly #shares: Shares
  /** Files whose entries are deleted. */
  readonly #discarded: string[] = []
  readonly #scratch = Buffer.alloc(HEAD_BYTES)

  private constructor(databases: Databases) {
    this.#databases = databases
    this.#counts = readCounts(databases)
    this.#shares = new Shares(databases, this.#counts)
  }

  /** Runs `work` and commits; when it throws, nothing has happened. */
  static run<Result>(databases: Databases, work: (transaction: StoreTransaction) => Result): Result {
    let discarded: readonly string[] = []
    const result = inTransaction(databases, () => {
      const transaction = new StoreTransaction(databases)
      const made = work(transaction)
      transaction.#shares.write()
      writeCounts(databases, transaction.#counts)
      discarded = transaction.#discarded
      return made
    })
    // Not before: uncommitted changes have not happened.
    if (discarded.length > 0) databases.files?.discard(discarded)
    return result
  }

  get counts(): Readonly<Counts> {
    return this.#counts
  }

  /** Counts an evicted entry. */
  countEvicted(head: EntryHead): void {
    this.#counts.evictions++
    this.#shares.countEvicted(head)
  }

  /** The label from which to evict; undefined: there are no entries. */
  overuser(dimension: Dimension): Readonly<Usage> | undefined {
    return this.#shares.overuser(dimension)
  }

  /** Sets the weights of labels; those that are not named are gone. */
  setWeights(weights: ReadonlyMap<string, number>): void {
    this.#shares.setWeights(weights)
  }

  head(id: Buffer): EntryHead | undefined {
    const bytes = this.#databases.heads.getBinary(id)
    return bytes === undefined ? undefined : decodeHead(bytes)
  }

  /** @throws CACHE_TORN_ENTRY */
  facts(id: Buffer, head: EntryHead): EntryFacts {
    return readFacts(this.#databases, id, head)
  }

  /** Stores an entry in place of the one that has its key. */
  write(entry: NewEntry, { graceMs, now }: { graceMs: number; now: number }): void {
    const { facts } = entry
    const id = idOf(entry.key)
    const { record, factsBytes } = encodeRecord(entry)
    this.#counts.lastStamp = accessStamp(now, this.#counts.lastStamp)
    const old = this.head(id)
    const head: EntryHead = {
      isDead: false,
      isMarkedStale: facts.isMarkedStale,
      isQueryKeyed: facts.isQueryKeyed,
      // One that was requested again stays what it is when it is replaced.
      isNewcomer: facts.isNewcomer === true && old?.isNewcomer !== false,
      checksum: crc32(record),
      accessStamp: this.#counts.lastStamp,
      deadlineAt: Math.ceil(deadlineOf(facts, graceMs) ?? 0),
      seq: facts.seq,
      recordBytes: record.byteLength,
      factsBytes,
      fileBytes: facts.bodyFile?.bytes ?? 0,
      labelNumber: this.#shares.numberOf(facts.label),
      hits: 0,
    }
    const oldFacts = old && this.#factsIfWhole(id, old)
    if (oldFacts?.bodyFile !== undefined && oldFacts.bodyFile.name !== facts.bodyFile?.name) {
      this.#discarded.push(oldFacts.bodyFile.name)
    }
    this.#replaceRows(id, oldFacts, facts)
    if (old !== undefined) this.#unschedule(id, old)
    if (old?.isDead === false) this.#count(old, -1)
    const { heads, records, schedule } = this.#databases
    records.putSync(id, record)
    heads.putSync(id, encodeHead(head))
    schedule.putSync(accessKey(id, head), PRESENT)
    const deadline = deadlineKey(id, head)
    if (deadline !== undefined) schedule.putSync(deadline, PRESENT)
    this.#count(head, 1)
  }

  /** Makes an entry read as a miss; the rest of it is deleted later. */
  bury(id: Buffer, head: EntryHead): void {
    this.#databases.heads.putSync(id, encodeHead({ ...head, isDead: true }))
    this.#count(head, -1)
  }

  /**
   * Buries an entry or marks it stale, if a purge of this number is about it. Returns true if it was. Purges cover many: only
   * the necessary parts are decoded.
   */
  purge(id: Buffer, purge: Pick<Purge, 'number' | 'mode'>, matchesEntry: PurgeMatcher | undefined): boolean {
    const { heads } = this.#databases
    const stored = heads.getBinaryFast(id)
    if (stored === undefined || !isOlderThan(stored, purge.number)) return false
    const bytes = this.#scratch
    stored.copy(bytes, 0, 0, bytes.byteLength)
    if (matchesEntry !== undefined && !matchesEntry(this.facts(id, decodeHead(bytes)))) return false
    if (purge.mode === 'drop') this.#count(decodeHead(bytes), -1)
    setFlag(bytes, purge.mode === 'drop' ? DEAD : STALE)
    heads.putSync(id, bytes)
    return true
  }

  /** Records so many reads, the last one at `stamp`. An entry that is requested again is no longer a newcomer. */
  touch(id: Buffer, stamp: number, reads: number): void {
    const head = this.head(id)
    if (head === undefined || head.isDead) return
    const { heads, schedule } = this.#databases
    const last = Math.max(head.accessStamp, stamp)
    const touched = { ...head, isNewcomer: false, accessStamp: last, hits: head.hits + reads }
    if (last !== head.accessStamp || head.isNewcomer) {
      schedule.removeSync(accessKey(id, head))
      schedule.putSync(accessKey(id, touched), PRESENT)
    }
    heads.putSync(id, encodeHead(touched))
    if (!head.isNewcomer) return
    this.#count(head, -1)
    this.#count(touched, 1)
  }

  /** Takes away all that belongs to an id. */
  clear(id: Buffer): void {
    const head = this.head(id)
    if (head === undefined) return
    const facts = this.#factsIfWhole(id, head)
    if (facts?.bodyFile !== undefined) this.#discarded.push(facts.bodyFile.name)
    this.#replaceRows(id, facts, undefined)
    this.#unschedule(id, head)
    this.#databases.heads.removeSync(id)
    this.#databases.records.removeSync(id)
    if (!head.isDead) this.#count(head, -1)
    if (facts !== undefined) this.#forgetVariance(facts)
  }

  /** Adds the request inputs that a render read to a variance record, and deletes the entries that no look-up can reach any more. */
  addReads(label: string, path: string, reads: Variance, seq: number): void {
    const { index } = this.#databases
    const { query, host, isNarrower, write } = nextVariance(this.#databases, label, path, reads, seq)
    for (const id of Array.from(index.getValues(rowKey(ROW.path, pathText(path, label))))) {
      const head = this.head(id)
      if (head === undefined) continue
      const isOfOtherKey = isNarrower || (query && !head.isQueryKeyed) || (host && this.facts(id, head).host === '')
      if (isOfOtherKey) this.clear(id)
    }
    // At the end: a record goes with the last entry of its path.
    write()
  }

  /** Without them the rows of the index stay: they lead to nothing, or to an entry that they are not asked about. */
  #factsIfWhole(id: Buffer, head: EntryHead): EntryFacts | undefined {
    try {
      return this.facts(id, head)
    } catch {
      // A torn entry must not stop its own deletion.
      return undefined
    }
  }

  #unschedule(id: Buffer, head: EntryHead): void {
    const { schedule } = this.#databases
    const deadline = deadlineKey(id, head)
    if (deadline !== undefined) schedule.removeSync(deadline)
    schedule.removeSync(accessKey(id, head))
  }

  /** Makes the index lead to an entry by its new facts and no more by the old ones. Most rows stay: they are not touched. */
  #replaceRows(id: Buffer, old: EntryFacts | undefined, facts: EntryFacts | undefined): void {
    const { index } = this.#databases
    const oldRows = old === undefined ? [] : rowKeysOf(old)
    const rows = facts === undefined ? [] : rowKeysOf(facts)
    for (const row of oldRows) if (!rows.some((other) => other.equals(row))) index.removeSync(row, id)
    for (const row of rows) if (!oldRows.some((other) => other.equals(row))) index.putSync(row, id)
  }

  /** A variance record goes with the last entry of its path: the next render recreates it. */
  #forgetVariance({ label, path }: EntryFacts): void {
    if (path === '') return
    const { index, variances } = this.#databases
    if (index.getBinary(rowKey(ROW.path, pathText(path, label))) === undefined) variances.removeSync(varianceKey(label, path))
  }

  #count(head: EntryHead, sign: 1 | -1): void {
    this.#shares.count(head, sign)
    this.#counts.entries += sign
    this.#counts.bytes += sign * (head.recordBytes + head.fileBytes)
    if (!head.isQueryKeyed) return
    this.#counts.queryEntries += sign
    this.#counts.queryBytes += sign * (head.recordBytes + head.fileBytes)
  }
}
