import { randomBytes } from 'node:crypto'
import type { Databases } from './databases.ts'
import { ID_BYTES } from './index-keys.ts'
import type { StoreTransaction } from './store-transaction.ts'

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
