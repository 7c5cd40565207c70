import type { Database, RootDatabase } from 'lmdb'

type Table = Database<Buffer, Buffer>

/** The databases of a store. All keys and values are bytes. */
export interface Databases {
  readonly root: RootDatabase<Buffer, Buffer>
  /** Id -> head. */
  readonly heads: Table
  /** Id -> facts and body. */
  readonly records: Table
  /** Row (label, path, host or tag) -> ids. */
  readonly index: Table
  /** What is due when: last access or deadline, then id. */
  readonly schedule: Table
  /** Label and path -> what of the request the key depends on. */
  readonly variances: Table
  /** Number -> ids of purged entries, to be cleared away. */
  readonly garbage: Table
  /** Counters. */
  readonly counters: Table
}

const BINARY = { keyEncoding: 'binary', encoding: 'binary' } as const

/** What lmdb needs to begin in the middle of the ids of a row. Given at opening it would also be asked to decode. */
const idEncoder = {
  encode: (id: Buffer) => id,
  writeKey(id: Buffer, target: Buffer, position: number): number {
    id.copy(target, position)
    return position + id.byteLength
  },
}

/**
 * Opens or makes the databases in a directory. Throws what lmdb throws. Nothing is synced: what a killed process has committed
 * is kept by the system, and a store that a crash of the machine may have hurt is not opened in the first place.
 */
export async function openDatabases(dir: string, mapBytes: number): Promise<Databases> {
  // Native code: loaded by who opens a store, not by all that import this package.
  const { open } = await import('lmdb')
  const root = open<Buffer, Buffer>({
    path: dir,
    ...BINARY,
    noSubdir: false,
    noSync: true,
    mapSize: mapBytes,
    maxDbs: 12,
    maxReaders: 1024,
  })
  const table = (name: string) => root.openDB<Buffer, Buffer>({ name, ...BINARY })
  const index = root.openDB<Buffer, Buffer>({ name: 'index', ...BINARY, dupSort: true })
  Object.assign(index, { encoder: idEncoder })
  return {
    root,
    heads: table('heads'),
    records: table('records'),
    index,
    schedule: table('schedule'),
    variances: table('variances'),
    garbage: table('garbage'),
    counters: table('counters'),
  }
}

/** Runs `work` in one write transaction: all of it is committed, or nothing when it throws. */
export function inTransaction<Result>({ root }: Databases, work: () => Result): Result {
  return root.transactionSync(work)
}
