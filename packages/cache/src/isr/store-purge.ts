import { setImmediate as nextTurn } from 'node:timers/promises'
import { type PurgeMatcher, purgeMatcher } from '../purge/match-purge.ts'
import type { Purge } from '../purge/purge.ts'
import { type Databases, inTransaction } from './databases.ts'
import { listGarbage } from './garbage.ts'
import { candidatesOf } from './purge-candidates.ts'
import { StoreTransaction } from './store-transaction.ts'
import { noteChangedCode } from './variances.ts'

/** Entries looked at in one transaction: others wait for its end. */
const ENTRIES_PER_STEP = 512

/** Drops or marks what a purge matches and what is older than it. Resolves with how many entries that were. */
export async function purgeStore(databases: Databases, purge: Purge): Promise<number> {
  const { changedCode = [] } = purge
  if (changedCode.length > 0) inTransaction(databases, () => noteChangedCode(databases, changedCode, purge.number))
  const matchesEntry = purgeMatcher(purge)
  // What several rows lead to is taken once; a single list names no id twice.
  const lists = purge.scopes.flatMap((scope) => candidatesOf(databases, scope))
  const seen = lists.length > 1 ? new Set<string>() : undefined
  let count = 0
  let steps = 0
  for (const { ids, isExact } of lists) {
    for (let at = 0; at < ids.length; at += ENTRIES_PER_STEP) {
      if (steps++ > 0) await nextTurn()
      const step = ids.slice(at, at + ENTRIES_PER_STEP)
      const taken = purgeStep({ databases, purge, seen, matchesEntry: isExact ? undefined : matchesEntry }, step)
      for (const id of taken) seen?.add(id.toString('latin1'))
      count += taken.length
    }
  }
  return count
}

interface Step {
  readonly databases: Databases
  readonly purge: Purge
  readonly seen: ReadonlySet<string> | undefined
  /** Undefined: all ids are known to match. */
  readonly matchesEntry: PurgeMatcher | undefined
}

/** Returns which entries were taken. */
function purgeStep({ databases, purge, seen, matchesEntry }: Step, ids: readonly Buffer[]): readonly Buffer[] {
  return StoreTransaction.run(databases, (transaction) => {
    const taken: Buffer[] = []
    for (const id of ids) {
      if (seen?.has(id.toString('latin1')) || !transaction.purge(id, purge, matchesEntry)) continue
      taken.push(id)
    }
    if (purge.mode === 'drop') listGarbage(databases, taken)
    return taken
  })
}
