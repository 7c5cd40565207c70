import type { Purge } from '../purge/purge.ts'
import { type Databases, inTransaction } from './databases.ts'

function keyOf(number: number): Buffer {
  const key = Buffer.alloc(8)
  key.writeDoubleBE(number)
  return key
}

/** Notes a purge before it is answered: whoever opens the store next goes on with it. */
export function notePending(databases: Databases, purge: Purge): void {
  inTransaction(databases, () => databases.purges.putSync(keyOf(purge.number), Buffer.from(JSON.stringify(purge))))
}

/** The store follows the purge with this number. */
export function forgetPending(databases: Databases, number: number): void {
  inTransaction(databases, () => databases.purges.removeSync(keyOf(number)))
}

/** Purges that were answered and not followed, in the order of their numbers. */
export function pendingPurges({ purges }: Databases): Purge[] {
  return Array.from(purges.getRange(), ({ value }) => JSON.parse(value.toString()) as Purge)
}
