import type { Clock } from '@svc/core'
import type { Databases } from './databases.ts'

/** The file is never smaller bounded than this: each database takes some pages. */
const LEAST_FILE_BYTES = 4 << 20
/** Room of the map beyond the bound of the file, so that no transaction makes lmdb remap it. */
const MAP_SLACK_BYTES = 32 << 20
/** Bytes that a transaction writes beside its entries: pages of the trees that it touches. */
const OVERHEAD_BYTES = 128 << 10
/** The share of its bound up to which the file grows freely. */
const NEAR_BOUND = 3 / 4
/** How long writers wait when free pages cannot be had. */
const TRY_AGAIN_MS = 500

/** Bytes that the file of a store may have. lmdb itself would let it grow without end. */
export function fileBytesFor(maxBytes: number): number {
  return Math.max(LEAST_FILE_BYTES, 2 * maxBytes)
}

/** Bytes of bodies that a transaction of a store may write. */
export function stepBytesFor(maxBytes: number): number {
  return Math.min(2 << 20, Math.max(64 << 10, maxBytes / 16))
}

/** Bytes to map for a store. */
export function mapBytesFor(maxBytes: number): number {
  return fileBytesFor(maxBytes) + MAP_SLACK_BYTES
}

/** lmdb's own figures, which its types do not tell of. */
interface EnvInfo {
  readonly lastPageNumber: number
}
interface TreeStat {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}
interface Native {
  readonly env: { info(): EnvInfo }
  readonly db: { stat(): TreeStat }
  ensureReadTxn(): void
}

/** The next step of a writer: write, evict first, or wait since eviction would not help. */
type Room = 'enough' | 'evict' | 'wait'

/** Room in the file of a store. */
export class Space {
  readonly #databases: Databases
  readonly #maxFileBytes: number
  readonly #pageBytes: number
  readonly #clock: Clock
  #largestBytes: number
  #tryAgainAt = 0

  constructor(databases: Databases, maxBytes: number, clock: Clock) {
    this.#databases = databases
    this.#clock = clock
    this.#maxFileBytes = fileBytesFor(maxBytes)
    this.#pageBytes = statOf(databases.heads).pageSize
    databases.root.resetReadTxn()
    this.#largestBytes = Math.max(this.#maxFileBytes, this.fileBytes)
  }

  /** Bytes of the file that are or were in use. */
  get fileBytes(): number {
    return (nativeOf(this.#databases.root).env.info().lastPageNumber + 1) * this.#pageBytes
  }

  /** Bytes of pages in use. */
  get usedBytes(): number {
    const { heads, records, index, schedule, variances, garbage, counters } = this.#databases
    let pages = 0
    for (const table of [heads, records, index, schedule, variances, garbage, counters]) {
      const stat = statOf(table)
      pages += stat.treeBranchPageCount + stat.treeLeafPageCount + stat.overflowPages
    }
    this.#databases.root.resetReadTxn()
    return pages * this.#pageBytes
  }

  /**
   * Tells a writer how to write so many bytes without the file outgrowing its bound. Near the bound free pages must do: more of
   * them than asked for, since what is large needs neighbouring ones, and many more once the bound is reached.
   */
  roomFor(bytes: number): Room {
    const needed = bytes + OVERHEAD_BYTES
    const { fileBytes } = this
    if (fileBytes + needed <= this.#maxFileBytes * NEAR_BOUND) return 'enough'
    const factor = fileBytes + needed <= this.#maxFileBytes ? 4 : 8
    if (fileBytes - this.usedBytes < factor * needed) return 'evict'
    return fileBytes > this.#maxFileBytes && this.#isGrowing(fileBytes) ? 'wait' : 'enough'
  }

  /**
   * True if the file grows beyond its bound although it has free pages: then a reader that is slow, or dead, holds them. Dead
   * ones are deleted; one try now and then shows if the others have moved on.
   */
  #isGrowing(fileBytes: number): boolean {
    const now = this.#clock.monotonic()
    if (fileBytes > this.#largestBytes) {
      this.#largestBytes = fileBytes
      this.#tryAgainAt = now + TRY_AGAIN_MS
      this.#databases.root.readerCheck()
    }
    return now < this.#tryAgainAt
  }
}

function statOf(table: unknown): TreeStat {
  const native = nativeOf(table)
  native.ensureReadTxn()
  return native.db.stat()
}

function nativeOf(table: unknown): Native {
  return table as Native
}
