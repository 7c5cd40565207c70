import { join } from 'node:path'
import { type Clock, messageOf, systemClock } from '@svc/core'
import type { BegunPurge, CacheStore, PurgedStore } from '../entries/cache-store.ts'
import type { EntryFacts, KnownVariance, StoredEntry, Variance } from '../entries/entry.ts'
import { CacheError } from '../errors/errors.ts'
import { touchesLayer } from '../purge/match-purge.ts'
import type { Purge } from '../purge/purge.ts'
import { admits } from './counts.ts'
import { closeDatabases, type EntryFiles } from './databases.ts'
import { decodeFacts, decodeHead, RecentFacts, readFacts } from './entry-codec.ts'
import { trimTagged } from './eviction.ts'
import { ID_BYTES, idOf, ROW, rowKey } from './index-keys.ts'
import { type ListedEntry, type Listing, type ListingQuery, listEntries, lookAt } from './inspect.ts'
import { LentBytes } from './lent-bytes.ts'
import { joinHome, type OpenedHome, openHome, type StorePlace } from './open-store.ts'
import { StoreAccess, type StoreStats } from './store-access.ts'
import { beginPurge, finishPurges } from './store-purge.ts'
import { StoreRoom } from './store-room.ts'
import { identityOf, type StoreIdentity } from './store-seal.ts'
import { StoreTransaction } from './store-transaction.ts'
import { readVariance } from './variances.ts'

export interface EntryStoreOptions {
  /** `cache.dir` of the instance; the store lies in a directory below it. */
  readonly cacheDir: string
  /** Name of that directory, and the layer whose purges are about the store. @default 'isr' */
  readonly layer?: 'isr' | 'proxy'
  /** Directory of bodies outside the store; undefined: there are none. */
  readonly files?: EntryFiles | undefined
  /** Most entries; 0: nothing is stored. */
  readonly maxEntries: number
  /** Most bytes of facts and bodies; 0: nothing is stored. The file may have twice as many. */
  readonly maxBytes: number
  /** Milliseconds that an entry is kept after its stale time, in case a refresh fails. */
  readonly graceMs: number
  readonly clock?: Clock
}

/**
 * The lmdb store that all processes of an instance share. Its master opens it, before workers and render hosts join it. Reads
 * and small writes are synchronous calls into shared memory. Without a usable directory the store is off: every read is a miss and nothing is kept.
 */
export class EntryStore implements CacheStore, PurgedStore {
  readonly stats: StoreStats
  readonly room: StoreRoom
  /** Why the store is off; undefined when it works, or is not wanted. */
  readonly problem: string | undefined
  /** The damage found on opening, and where the damaged files were moved. */
  readonly damage: string | undefined
  readonly #access: StoreAccess
  readonly #options: Options
  readonly #isOwner: boolean
  readonly #identity: StoreIdentity | undefined
  readonly #lent = new LentBytes()
  /** For responses of upstreams, which are requested again and again; undefined: nothing is remembered. */
  readonly #recent: RecentFacts | undefined
  /** Settles when the store follows all purges so far. Never rejects. */
  #lastPurge: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  private constructor(home: OpenedHome, options: Options, isOwner: boolean, identity?: StoreIdentity) {
    this.problem = home.problem
    this.damage = home.damage
    this.#options = options
    this.#isOwner = isOwner
    this.#recent = options.layer === 'proxy' ? new RecentFacts() : undefined
    this.#identity = identity
    const databases = home.databases && { ...home.databases, files: options.files }
    this.#access = new StoreAccess({ ...options, dir: join(options.cacheDir, options.layer), databases })
    this.stats = this.#access.stats
    this.room = new StoreRoom(this.#access)
  }

  /** Opens the store as the master of an instance. An unusable store is moved aside and a new one created. */
  static async open(given: EntryStoreOptions): Promise<EntryStore> {
    const options = { ...defaults, ...given }
    const home = isWanted(options) ? await openHome(placeOf(options), options.maxBytes).then(finished) : NOT_WANTED
    const identity = await identityOf(join(options.cacheDir, options.layer))
    return new EntryStore(home, options, true, identity)
  }

  /** Opens the store as another process of the instance, after its master. */
  static async join(given: EntryStoreOptions): Promise<EntryStore> {
    const options = { ...defaults, ...given }
    const home = isWanted(options) ? await joinHome(placeOf(options), options.maxBytes) : NOT_WANTED
    return new EntryStore(home, options, false)
  }

  /** @param isOfTurn true for a look-up that need not see what was stored after this turn of the event loop began */
  get(key: string, isOfTurn = false): StoredEntry | undefined {
    return this.#access.read(({ databases: { heads, records }, access, promotions }) => {
      const id = this.#recent?.idOf(key) ?? idOf(key)
      // Both lie in the same memory, one after the other: the head is decoded before the record is read.
      const headBytes = heads.getBinaryFast(id)
      const head = headBytes && decodeHead(headBytes)
      if (head === undefined || head.isDead) return undefined
      const record = records.getBinaryFast(id)
      if (record?.length !== head.recordBytes)
        throw new CacheError('CACHE_TORN_ENTRY', 'the record of an entry is missing or truncated')
      const facts = this.#recent === undefined ? readFacts(key, head, record) : this.#recent.read(key, head, record)
      if (facts === undefined) return undefined
      if (head.isNewcomer) promotions.touch(key, 1)
      else access.touch(key, 1)
      return { ...facts, body: this.#lent.copyOf(record, head.factsBytes, head.recordBytes) }
    }, isOfTurn)
  }

  /** The body must not be changed until the promise has resolved. */
  async put(key: string, facts: EntryFacts, body: Uint8Array): Promise<boolean> {
    const entry = { key, facts, body }
    const { parts } = this.#access
    return parts !== undefined && admits(this.#options, entry) ? parts.queue.add(entry) : false
  }

  /** @throws CACHE_PURGE_FAILED when purged entries may still be found */
  async purge(purge: Purge): Promise<number> {
    const { count, followed } = await this.beginPurge(purge)
    await followed
    return count
  }

  async beginPurge(purge: Purge): Promise<BegunPurge> {
    const { parts } = this.#access
    if (parts === undefined || !touchesLayer(purge, this.#options.layer)) return { count: 0, followed: undefined }
    // One after the other: entries that an earlier purge counted must not be counted again.
    const earlier = this.#lastPurge
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#lastPurge = promise
    await earlier
    const { maintenance, databases } = parts
    const failed = (error: unknown): never => {
      this.#access.fail(error)
      throw new CacheError('CACHE_PURGE_FAILED', `failed to purge the ${this.#options.layer} store`, { cause: error })
    }
    const count = async () => {
      await this.flushed()
      this.#access.refresh()
      return beginPurge(databases, purge)
    }
    const counted = maintenance.first(count).catch(failed)
    const followed = counted.then(({ follow }) => follow && maintenance.first(follow).catch(failed))
    // The caller may not have attached a handler yet.
    followed.catch(() => undefined).finally(resolve)
    const { count: taken, follow } = await counted
    return { count: taken, followed: follow && followed }
  }

  /** True if there is an entry with this key that is not purged. Notes no access. */
  has(key: string): boolean {
    const found = this.#access.read(({ databases }) => {
      const head = databases.heads.getBinaryFast(idOf(key))
      return head !== undefined && !decodeHead(head).isDead
    })
    return found ?? false
  }

  /** True if a file beside the store is the body of an entry. Its name begins with the id. Undefined: unknown. */
  ownsFile(name: string): boolean | undefined {
    return this.#access.read(({ databases: { heads, records } }) => {
      const id = Buffer.from(name.slice(0, 2 * ID_BYTES), 'hex')
      const head = heads.getBinary(id)
      const record = head === undefined ? undefined : records.getBinaryFast(id)
      return head !== undefined && record !== undefined && decodeFacts(decodeHead(head), record).facts.bodyFile?.name === name
    })
  }

  /** Number of entries that carry a tag: purged ones count until they are deleted. */
  countTagged(tag: string): number {
    return this.#access.read(({ databases }) => databases.index.getValuesCount(rowKey(ROW.tag, tag))) ?? 0
  }

  /** Drops the least recently used entries of a tag until there are no more than so many. */
  trimTagged(tag: string, maxEntries: number): void {
    this.#access.write(({ databases }) => {
      if (this.countTagged(tag) > maxEntries) trimTagged(databases, tag, maxEntries)
    })
  }

  variance(label: string, path: string): KnownVariance | undefined {
    return this.#access.read(({ databases }) => readVariance(databases, label, path))
  }

  async noteReads(label: string, path: string, reads: Variance, seq: number): Promise<void> {
    await this.flushed()
    this.#access.write(({ databases }) => StoreTransaction.run(databases, (one) => one.addReads(label, path, reads, seq)))
  }

  /** Reads after this call see all that any process has committed before it. */
  refresh(): void {
    this.#access.refresh()
  }

  /** Resolves when every put of this process so far is committed or dropped. */
  async flushed(): Promise<void> {
    await this.#access.parts?.queue.flushed()
  }

  /** Notes that a copy of an entry was used. `get` notes a read by itself. */
  touch(key: string): void {
    this.#access.parts?.access.touch(key, 0)
  }

  /** Why the store cannot be relied on at the moment; undefined: it can, or is not wanted. Looks at its files. */
  async trouble(): Promise<string | undefined> {
    if (this.#access.parts === undefined || this.problem !== undefined) return this.problem
    return this.#access.trouble(this.#identity)
  }

  /** The entry of a key without its body. Notes no access. */
  look(key: string): ListedEntry | undefined {
    return this.#access.read(({ databases }) => lookAt(databases, key))
  }

  /** Lists entries without their bodies, and notes no access. */
  list(query: ListingQuery): Listing {
    return this.#access.read(({ databases }) => listEntries(databases, query)) ?? { entries: [], cursor: null }
  }

  /** Waits for writes in flight and closes the store. Every look-up is a miss from then on. */
  close(): Promise<void> {
    this.#closing ??= this.#access.close(this.#isOwner, () => Promise.all([this.room.evicted(), this.#lastPurge]))
    return this.#closing
  }
}

type Options = Required<Omit<EntryStoreOptions, 'files'>> & Pick<EntryStoreOptions, 'files'>

const defaults = { clock: systemClock, layer: 'isr' } as const

function placeOf({ cacheDir, layer }: Options): StorePlace {
  return { cacheDir, name: layer }
}

/** A store whose last owner did not come to the end of its purges. If this one does not either, it must not be used. */
async function finished(home: OpenedHome): Promise<OpenedHome> {
  if (home.databases === undefined) return home
  try {
    await finishPurges(home.databases)
    return home
  } catch (error) {
    await closeDatabases(home.databases)
    return { ...home, databases: undefined, problem: `failed to finish pending purges: ${messageOf(error)}` }
  }
}

const NOT_WANTED: OpenedHome = { databases: undefined, problem: undefined, damage: undefined }

function isWanted({ maxEntries, maxBytes }: EntryStoreOptions): boolean {
  return maxEntries > 0 && maxBytes > 0
}
