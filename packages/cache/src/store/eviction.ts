import { randomBytes } from 'node:crypto'
import { type Bounds, excessOf } from './counts.ts'
import type { Databases } from './databases.ts'
import { ID_BYTES, ROW, rowKey } from './index-keys.ts'
import { type AccessClass, accessRange, deadlineRange, readDueKey } from './schedule.ts'
import { StoreTransaction } from './store-transaction.ts'
import type { Dimension, Usage } from './usage.ts'

/** Entries of a row, which is cleared in one piece. */
const IDS_PER_ROW = 32

/** Notes buried entries, which are deleted later; only inside the transaction that buried them. */
export function listGarbage({ garbage }: Databases, ids: readonly Buffer[]): void {
  for (let at = 0; at < ids.length; at += IDS_PER_ROW) {
    garbage.putSync(randomBytes(8), Buffer.concat(ids.slice(at, at + IDS_PER_ROW)))
  }
}

/** Deletes the buried entries of one row. Returns true if there was one. */
export function sweepRow({ garbage }: Databases, transaction: StoreTransaction): boolean {
  for (const { key, value } of garbage.getRange({ limit: 1 })) {
    for (let at = 0; at < value.length; at += ID_BYTES) {
      const id = Buffer.from(value.subarray(at, at + ID_BYTES))
      // Rewritten since: no longer garbage.
      if (transaction.head(id)?.isDead === true) transaction.clear(id)
    }
    garbage.removeSync(key)
    return true
  }
  return false
}

/** Entries under keys that clients can make up are evicted first when they exceed this share of their label's usage. */
const OPEN_SHARE = 4

/** A row of the schedule. */
interface Access {
  readonly row: Buffer
  readonly time: number
  readonly id: Buffer
}

/** Picks the classes of entries from which the least recently used entry of an overuser is evicted. */
function classesToEvict(usage: Usage, dimension: Dimension): readonly AccessClass[] {
  if (dimension === 'queryEntries' || dimension === 'queryBytes') return ['query']
  const [all, query, newcomers] =
    dimension === 'entries'
      ? [usage.entries, usage.queryEntries, usage.newEntries]
      : [usage.bytes, usage.queryBytes, usage.newBytes]
  if (newcomers > all / OPEN_SHARE) return ['newcomer']
  if (query > all / OPEN_SHARE) return ['query']
  const classes: AccessClass[] = usage.entries > usage.queryEntries + usage.newEntries ? ['regular'] : []
  if (query > 0) classes.push('query')
  if (newcomers > 0) classes.push('newcomer')
  return classes
}

function oldestOf({ schedule }: Databases, labelNumber: number, ofClass: AccessClass): Access | undefined {
  const range = { ...accessRange(labelNumber, ofClass), limit: 1 }
  for (const key of schedule.getKeys(range)) return { row: Buffer.from(key), ...readDueKey(key) }
  return undefined
}

/** Removes the next entry to evict from the schedule: the least recently used one of the label with the highest usage for its weight. */
function takeNext(databases: Databases, transaction: StoreTransaction, dimension: Dimension): Buffer | undefined {
  const overuser = transaction.overuser(dimension)
  if (overuser === undefined) return undefined
  let oldest: Access | undefined
  for (const ofClass of classesToEvict(overuser, dimension)) {
    const access = oldestOf(databases, overuser.number, ofClass)
    if (access !== undefined && (oldest === undefined || access.time < oldest.time)) oldest = access
  }
  if (oldest !== undefined) databases.schedule.removeSync(oldest.row)
  return oldest?.id
}

/**
 * Buries entries of the labels that have most for their weight until the store is within its bounds, looking at no more than
 * `limit`. Returns how many it has buried.
 */
export function evictExcess(databases: Databases, transaction: StoreTransaction, bounds: Bounds, limit: number): number {
  const buried: Buffer[] = []
  for (let looked = 0; looked < limit; looked++) {
    const excess = excessOf(transaction.counts, bounds)
    const id = excess === undefined ? undefined : takeNext(databases, transaction, excess)
    if (id === undefined) break
    const head = transaction.head(id)
    if (head === undefined || head.isDead) continue
    transaction.bury(id, head)
    transaction.countEvicted(head)
    buried.push(id)
  }
  listGarbage(databases, buried)
  return buried.length
}

/** Clears away up to `limit` entries, as `evictExcess` chooses them, to make room in the file. Returns how many could be read. */
export function evictForRoom(databases: Databases, transaction: StoreTransaction, limit: number): number {
  const before = transaction.counts.entries
  for (let count = 0; count < limit; count++) {
    const id = takeNext(databases, transaction, 'bytes')
    if (id === undefined) break
    const head = transaction.head(id)
    if (head?.isDead === false) transaction.countEvicted(head)
    transaction.clear(id)
  }
  return before - transaction.counts.entries
}

/** Clears away the least recently used entries of a tag until there are no more than so many. */
export function trimTagged(databases: Databases, tag: string, maxEntries: number): void {
  StoreTransaction.run(databases, (transaction) => {
    const ids = Array.from(databases.index.getValues(rowKey(ROW.tag, tag)), (id) => Buffer.from(id))
    const known = ids.map((id) => ({ id, stamp: transaction.head(id)?.accessStamp ?? 0 }))
    known.sort((a, b) => a.stamp - b.stamp)
    for (const { id } of known.slice(0, Math.max(0, known.length - maxEntries))) transaction.clear(id)
  })
}

/** Clears away up to `limit` entries whose deadline has passed. Returns how many. */
export function clearExpired(databases: Databases, transaction: StoreTransaction, now: number, limit: number): number {
  const { schedule } = databases
  const rows = Array.from(schedule.getKeys({ ...deadlineRange(now), limit }), (key) => Buffer.from(key))
  for (const row of rows) {
    schedule.removeSync(row)
    transaction.clear(readDueKey(row).id)
  }
  return rows.length
}
