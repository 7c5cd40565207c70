import type { Variance } from '../entries/entry.ts'
import type { Databases } from './databases.ts'
import { pathText, ROW, rowKey } from './index-keys.ts'
import { StoreTransaction } from './store-transaction.ts'
import { nextVariance } from './variances.ts'

/** Adds the request inputs that a render read to a variance record, and deletes the entries that no look-up can reach any more. */
export function noteReads(databases: Databases, label: string, path: string, reads: Variance, seq: number): void {
  StoreTransaction.run(databases, (transaction) => {
    const { query, host, isNarrower, write } = nextVariance(databases, label, path, reads, seq)
    for (const id of Array.from(databases.index.getValues(rowKey(ROW.path, pathText(path, label))))) {
      const head = transaction.head(id)
      if (head === undefined) continue
      const isOfOtherKey = isNarrower || (query && !head.isQueryKeyed) || (host && transaction.facts(id, head).host === '')
      if (isOfOtherKey) transaction.clear(id)
    }
    // At the end: a record goes with the last entry of its path.
    write()
  })
}
