import { type Bounds, excessOf } from './bounds.ts'
import type { Databases } from './databases.ts'
import { listGarbage } from './garbage.ts'
import { ROW, rowKey } from './index-keys.ts'
import { DUE, type DueKind, dueRange, readDueKey } from './schedule.ts'
import { StoreTransaction } from './store-transaction.ts'

/** A row of the schedule: what was not read for the longest time comes first. */
interface Access {
  readonly row: Buffer
  readonly time: number
  readonly id: Buffer
}

function oldestOf({ schedule }: Databases, kind: DueKind): Access | undefined {
  for (const key of schedule.getKeys({ ...dueRange(kind), limit: 1 })) return { row: Buffer.from(key), ...readDueKey(key) }
  return undefined
}

/** Takes the least recently used entry out of the schedule. */
function takeOldest(databases: Databases, excess: 'query' | 'all'): Buffer | undefined {
  const query = oldestOf(databases, DUE.queryAccess)
  const other = excess === 'all' ? oldestOf(databases, DUE.access) : undefined
  const isQueryOlder = query !== undefined && (other === undefined || query.time < other.time)
  const oldest = isQueryOlder ? query : other
  if (oldest !== undefined) databases.schedule.removeSync(oldest.row)
  return oldest?.id
}

/**
 * Buries the least recently used entries until the store is within its bounds, looking at no more than `limit`. Returns how
 * many it has buried.
 */
export function evictExcess(databases: Databases, transaction: StoreTransaction, bounds: Bounds, limit: number): number {
  const buried: Buffer[] = []
  for (let looked = 0; looked < limit; looked++) {
    const excess = excessOf(transaction.counts, bounds)
    const id = excess === undefined ? undefined : takeOldest(databases, excess)
    if (id === undefined) break
    const head = transaction.head(id)
    if (head === undefined || head.isDead) continue
    transaction.bury(id, head)
    buried.push(id)
  }
  listGarbage(databases, buried)
  transaction.countEvicted(buried.length)
  return buried.length
}

/** Clears away up to `limit` of the least recently used entries, to make room in the file. Returns how many could be read. */
export function evictOldest(databases: Databases, transaction: StoreTransaction, limit: number): number {
  const before = transaction.counts.entries
  for (let count = 0; count < limit; count++) {
    const id = takeOldest(databases, 'all')
    if (id === undefined) break
    transaction.clear(id)
  }
  const evicted = before - transaction.counts.entries
  transaction.countEvicted(evicted)
  return evicted
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
  const rows = Array.from(schedule.getKeys({ ...dueRange(DUE.deadline, now), limit }), (key) => Buffer.from(key))
  for (const row of rows) {
    schedule.removeSync(row)
    transaction.clear(readDueKey(row).id)
  }
  return rows.length
}
