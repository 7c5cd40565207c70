import { setImmediate as nextTurn } from 'node:timers/promises'
import { type PurgeMatcher, purgeMatcher } from '../purge/match-purge.ts'
import type { Purge } from '../purge/purge.ts'
import { type Databases, inTransaction } from './databases.ts'
import { decodeHead, isOlderThan } from './entry-codec.ts'
import { listGarbage } from './eviction.ts'
import { type Candidates, candidatesOf } from './purge-candidates.ts'
import { readFacts, StoreTransaction } from './store-transaction.ts'
import { noteChangedCode } from './variances.ts'

/** Entries checked in one transaction, or in one turn: others wait for its end. */
const ENTRIES_PER_STEP = 512

/** A purge whose entries are counted. */
interface CountedPurge {
  readonly count: number
  /** Makes the entries read as misses or as stale; undefined: they do. A restart of the instance resumes unfinished work. */
  readonly follow: (() => Promise<void>) | undefined
}

/**
 * Drops or marks the entries that a purge matches and that are older than it, if they are few. Otherwise the entries are only counted and the
 * purge noted: to find them takes a fraction of the time that it takes to write them.
 */
export async function beginPurge(databases: Databases, purge: Purge): Promise<CountedPurge> {
  const work = prepare(databases, purge)
  const size = work.lists.reduce((sum, { ids }) => sum + ids.length, 0)
  if (size <= ENTRIES_PER_STEP) return { count: await takeAll(work), follow: undefined }
  notePending(databases, purge)
  const ids = await findAll(work)
  const follow = async () => {
    await takeAll({ ...work, lists: [{ ids, isExact: true }] })
    forgetPending(databases, purge.number)
  }
  return { count: ids.length, follow }
}

/** Goes on with purges that an earlier owner of the store has answered. */
export async function finishPurges(databases: Databases): Promise<void> {
  for (const purge of pendingPurges(databases)) {
    await takeAll(prepare(databases, purge))
    forgetPending(databases, purge.number)
  }
}

interface Work {
  readonly databases: Databases
  readonly purge: Purge
  readonly lists: readonly Candidates[]
  readonly matchesEntry: PurgeMatcher
}

function prepare(databases: Databases, purge: Purge): Work {
  const { changedCode = [] } = purge
  if (changedCode.length > 0) inTransaction(databases, () => noteChangedCode(databases, changedCode, purge.number))
  const found = purge.scopes.flatMap((scope) => candidatesOf(databases, scope))
  // A scope knows nothing of the labels to which the purge is bound.
  const lists = purge.labels === undefined ? found : found.map(({ ids }) => ({ ids, isExact: false }))
  return { databases, purge, lists, matchesEntry: purgeMatcher(purge) }
}

/** Some candidates of one list, and a flag if they must be checked. */
interface Step {
  readonly ids: readonly Buffer[]
  readonly matchesEntry: PurgeMatcher | undefined
}

/**
 * Hands all candidates to `take`, which returns those that it took, a bounded piece per turn. Resolves with all that were taken:
 * what several rows lead to is handed over once.
 */
async function inSteps({ lists, matchesEntry }: Work, take: (step: Step) => readonly Buffer[]): Promise<readonly Buffer[]> {
  // A single list names no id twice.
  const seen = lists.length > 1 ? new Set<string>() : undefined
  const taken: Buffer[] = []
  let steps = 0
  for (const { ids, isExact } of lists) {
    for (let at = 0; at < ids.length; at += ENTRIES_PER_STEP) {
      if (steps++ > 0) await nextTurn()
      const some = ids.slice(at, at + ENTRIES_PER_STEP)
      const fresh = seen === undefined ? some : some.filter((id) => !seen.has(id.toString('latin1')))
      const took = take({ ids: fresh, matchesEntry: isExact ? undefined : matchesEntry })
      for (const id of took) seen?.add(id.toString('latin1'))
      taken.push(...took)
    }
  }
  return taken
}

async function takeAll(work: Work): Promise<number> {
  const { databases, purge } = work
  const taken = await inSteps(work, ({ ids, matchesEntry }) =>
    StoreTransaction.run(databases, (transaction) => {
      const step = ids.filter((id) => transaction.purge(id, purge, matchesEntry))
      if (purge.mode === 'drop') listGarbage(databases, step)
      return step
    }),
  )
  return taken.length
}

/** The entries that `takeAll` would take. */
function findAll(work: Work): Promise<readonly Buffer[]> {
  const { databases, purge } = work
  return inSteps(work, ({ ids, matchesEntry }) => {
    databases.root.resetReadTxn()
    return ids.filter((id) => isAbout(databases, purge, id, matchesEntry))
  })
}

function isAbout(databases: Databases, purge: Purge, id: Buffer, matchesEntry: PurgeMatcher | undefined): boolean {
  const head = databases.heads.getBinaryFast(id)
  if (head === undefined || !isOlderThan(head, purge.number)) return false
  return matchesEntry === undefined || matchesEntry(readFacts(databases, id, decodeHead(head)))
}

function pendingKey(number: number): Buffer {
  const key = Buffer.alloc(8)
  key.writeDoubleBE(number)
  return key
}

/** Notes a purge before it is answered: the process that opens the store next continues it. */
function notePending(databases: Databases, purge: Purge): void {
  inTransaction(databases, () => databases.purges.putSync(pendingKey(purge.number), Buffer.from(JSON.stringify(purge))))
}

/** Forgets a purge that is complete. */
function forgetPending(databases: Databases, number: number): void {
  inTransaction(databases, () => databases.purges.removeSync(pendingKey(number)))
}

/** Purges that were answered and are not complete, in the order of their numbers. */
function pendingPurges({ purges }: Databases): Purge[] {
  return Array.from(purges.getRange(), ({ value }) => JSON.parse(value.toString()) as Purge)
}
