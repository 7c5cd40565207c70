import { join } from 'node:path'
import type { Database, RootDatabase } from 'lmdb'

type Table = Database<Buffer, Buffer>

type Root = RootDatabase<Buffer, Buffer>

/** Path of the file whose lock keeps writers and openers apart. */
export const GATE_DIR = 'gate'
const MAX_READERS = 1024
/**
 * MDB_NOTFOUND, MDB_BAD_VALSIZE and MDB_BAD_TXN: what comes of lmdb looking for more free pages in their own tree while it
 * changes that tree (`mdb_page_alloc`, under `mdb_freelist_save`): a leaf whose only record is being replaced is empty then.
 * @see https://github.com/HarperFast/harper/issues/689
 */
const FREE_LIST_ERRORS: readonly unknown[] = [-30798, -30781, -30782]
/**
 * Bytes that a repeated transaction asks for in one piece. There is hardly a gap of that size: to find one, lmdb reads its whole
 * list of free pages before it changes the list, and not while it does. One size for each repetition.
 */
const GAP_BYTES = [1 << 20, (4 << 20) + 1, (16 << 20) + 1]
const GAP_KEY = Buffer.from('gap')

/** The databases of a store. All keys and values are bytes. */
export interface Databases extends Tables {
  readonly root: Root
  /** Held by processes that open the store or write to it. */
  readonly gate: Root
  /** Numbers of labels that this process has read: they never change. */
  readonly labelNumbers: Map<string, number>
  /** Bodies beside the databases, in stores that have them. */
  readonly files?: EntryFiles | undefined
}

/** Files that belong to entries. */
export interface EntryFiles {
  /** The entries of these files are gone. Returns at once, never throws. */
  discard(names: readonly string[]): void
}

interface Tables {
  /** Id -> head. */
  readonly heads: Table
  /** Id -> facts and body. */
  readonly records: Table
  /** Row (label, path, host or tag) -> ids. */
  readonly index: Table
  /** Schedule by due time: last access or deadline, then id. */
  readonly schedule: Table
  /** Label and path -> request inputs that the key depends on. */
  readonly variances: Table
  /** Number -> ids of purged entries that are to be deleted. */
  readonly garbage: Table
  /** Number -> purge that was answered, and that the heads do not all follow yet. */
  readonly purges: Table
  /** Counters, in all and of each label: see `Usage`. */
  readonly counters: Table
}

const BINARY = { keyEncoding: 'binary', encoding: 'binary' } as const

/** Option with which lmdb begins in the middle of the ids of a row. Given at opening, lmdb would also decode with it. */
const idEncoder = {
  encode: (id: Buffer) => id,
  writeKey(id: Buffer, target: Buffer, position: number): number {
    id.copy(target, position)
    return position + id.byteLength
  },
}

/**
 * Opens or creates the databases in a directory. Throws the errors of lmdb. Nothing is synced: commits of a killed process
 * are kept by the system, and a store that a crash of the machine may have damaged is not opened in the first place.
 *
 * A process that opens an lmdb file sets the shared number of the last transaction back to what it read from the file a moment
 * before (`mdb_env_open2`). If another process commits in between, transactions are lost and pages are given out twice. So
 * no process writes while another one opens the store: both hold the write lock of a second file, into which nothing is ever written.
 */
export async function openDatabases(dir: string, mapBytes: number): Promise<Databases> {
  // Native code: loaded on opening a store, not on every import of this package.
  const { open } = await import('lmdb')
  const common = { ...BINARY, noSubdir: false, noSync: true, maxReaders: MAX_READERS } as const
  const gate = open<Buffer, Buffer>({ path: join(dir, GATE_DIR), ...common, mapSize: 1 << 20 })
  try {
    return gate.transactionSync(() => {
      const root = open<Buffer, Buffer>({ path: dir, ...common, mapSize: mapBytes, maxDbs: 12 })
      return { gate, root, labelNumbers: new Map<string, number>(), ...openTables(root) }
    })
  } catch (error) {
    await gate.close()
    throw error
  }
}

function openTables(root: Root): Tables {
  const table = (name: string) => root.openDB<Buffer, Buffer>({ name, ...BINARY })
  const index = root.openDB<Buffer, Buffer>({ name: 'index', ...BINARY, dupSort: true })
  Object.assign(index, { encoder: idEncoder })
  return {
    heads: table('heads'),
    records: table('records'),
    index,
    schedule: table('schedule'),
    variances: table('variances'),
    garbage: table('garbage'),
    purges: table('purges'),
    counters: table('counters'),
  }
}

/**
 * Runs `work` in one write transaction: all of it is committed, or nothing when it throws. A transaction that lmdb failed at
 * is tried again: `work` must leave nothing behind but what it writes.
 */
export function inTransaction<Result>(databases: Pick<Databases, 'gate' | 'root' | 'counters'>, work: () => Result): Result {
  const { gate, root } = databases
  let repeated = 0
  let gapBytes = 0
  for (;;) {
    try {
      return gate.transactionSync(() =>
        root.transactionSync(() => {
          if (gapBytes > 0) readFreeList(databases, gapBytes)
          return work()
        }),
      )
    } catch (error) {
      gapBytes = GAP_BYTES[repeated++] ?? 0
      if (gapBytes === 0 || !FREE_LIST_ERRORS.includes((error as { code?: unknown }).code)) throw error
    }
  }
}

function readFreeList({ counters }: Pick<Databases, 'counters'>, gapBytes: number): void {
  counters.putSync(GAP_KEY, Buffer.alloc(gapBytes))
  counters.removeSync(GAP_KEY)
}

/** Closes the databases, when all work in flight has ended. */
export async function closeDatabases({ gate, root }: Databases): Promise<void> {
  await root.close()
  await gate.close()
}
