import type { ResponseHead } from '@svc/http'
import type { Purge } from '../purge/purge.ts'
import { L0Entry, type L0Facts, type L0Key, type MakeBlock } from './l0-entry.ts'
import { L0Index } from './l0-index.ts'
import { L0Room } from './l0-room.ts'

/** How much L0 keeps. */
interface L0Bounds {
  /** Memory of all entries, at least 1. */
  readonly maxBytes: number
  /** Largest body. */
  readonly maxEntryBytes: number
}

/** Metadata stored with a response. */
interface L0Response<Facts extends L0Facts = L0Facts> {
  readonly facts: Facts
  /** Without fields of the engine. */
  readonly head: ResponseHead
  readonly body: Uint8Array
}

/** A key must be requested twice within this time to be cached. */
const WINDOW_MS = 10_000

/**
 * Responses ready to write, in the memory of one worker: bounded by bytes, each site by its share of them, found by what a purge
 * names. All times are milliseconds of the monotonic clock. Synchronous, never throws.
 */
export class L0Cache<Block, Facts extends L0Facts = L0Facts> {
  /** Bounds the memory. */
  readonly #room: L0Room<L0Entry<Block, Facts>>
  /** By prefix, then by target: a look-up needs no text that is not there already, and so no new hash. */
  readonly #byPrefix = new Map<string, Map<string, L0Entry<Block, Facts>>>()
  readonly #index = new L0Index<L0Entry<Block, Facts>>()
  readonly #requested = new RepeatedKeys(WINDOW_MS)
  readonly #makeBlock: MakeBlock<Block>
  readonly #maxEntryBytes: number
  #evictions = 0

  constructor({ maxBytes, maxEntryBytes }: L0Bounds, makeBlock: MakeBlock<Block>) {
    this.#makeBlock = makeBlock
    this.#maxEntryBytes = maxEntryBytes
    this.#room = new L0Room(maxBytes, (entry) => {
      this.#unlink(entry)
      this.#evictions++
    })
  }

  get entries(): number {
    return this.#room.size
  }

  /** Bytes of all entries, by the estimate that bounds them. */
  get bytes(): number {
    return this.#room.bytes
  }

  /** Entries that had to go to stay within the bound. */
  get evictions(): number {
    return this.#evictions
  }

  /** Largest body that is kept. */
  get maxEntryBytes(): number {
    return this.#maxEntryBytes
  }

  /** The entry of a key if it may be used now. */
  find(prefix: string, target: string, nowMs: number): L0Entry<Block, Facts> | undefined {
    const entry = this.#byPrefix.get(prefix)?.get(target)
    if (entry === undefined) return undefined
    if (nowMs < entry.dueAt || entry.renew(nowMs)) {
      this.#room.touch(entry)
      entry.hits++
      return entry
    }
    this.#drop(entry)
    // It was in use until now: its replacement need not be requested twice.
    this.#requested.note(entry.name, nowMs)
    return undefined
  }

  /** The entry of a name, which may be past its time. Notes no use. */
  look(name: string): L0Entry<Block, Facts> | undefined {
    const slash = name.indexOf('/')
    return this.#byPrefix.get(name.slice(0, slash))?.get(name.slice(slash))
  }

  /** All entries. The cache may change during the iteration: new ones come last. */
  all(): Iterable<L0Entry<Block, Facts>> {
    return this.#index.all()
  }

  /** Notes that a response for a key is being made. True: it has been wanted before, a moment ago, and should be stored. */
  isWanted({ prefix, target }: L0Key, nowMs: number): boolean {
    return this.#requested.note(prefix + target, nowMs)
  }

  /** Stores a response, with a body of its own. False: it is too large. */
  put(key: L0Key, { facts, head, body }: L0Response<Facts>, nowMs: number): boolean {
    if (body.byteLength > this.#maxEntryBytes) return false
    const entry = new L0Entry(key, facts, head, body, this.#makeBlock, nowMs)
    const replaced = this.#byPrefix.get(key.prefix)?.get(key.target)
    if (replaced !== undefined) this.#drop(replaced)
    // Before it is added: a response that has no room for long is evicted, and unlinked, at once.
    this.#link(entry)
    const isIn = this.#room.add(entry)
    if (!isIn) this.#unlink(entry)
    return isIn
  }

  /** Drops the entries that a purge covers. @returns how many */
  purge(purge: Pick<Purge, 'scopes' | 'labels'>): number {
    const taken = this.#index.taken(purge)
    for (const entry of taken) this.#drop(entry)
    return taken.size
  }

  /** Drops the entries that pass a test, at the cost of a look at every entry. */
  dropWhere(isDropped: (facts: Facts) => boolean): void {
    for (const entry of [...this.#room.values()]) if (isDropped(entry.facts)) this.#drop(entry)
  }

  clear(): void {
    for (const entry of [...this.#room.values()]) this.#drop(entry)
  }

  /** Sets the weights of labels; those that are not named have the usual one. */
  setWeights(weights: ReadonlyMap<string, number>): void {
    this.#room.setWeights(weights)
  }

  #link(entry: L0Entry<Block, Facts>): void {
    const { prefix, target } = entry.key
    const targets = this.#byPrefix.get(prefix)
    if (targets === undefined) this.#byPrefix.set(prefix, new Map([[target, entry]]))
    else targets.set(target, entry)
    this.#index.add(entry)
  }

  #drop(entry: L0Entry<Block, Facts>): void {
    this.#room.delete(entry)
    this.#unlink(entry)
  }

  #unlink(entry: L0Entry<Block, Facts>): void {
    const { prefix, target } = entry.key
    const targets = this.#byPrefix.get(prefix)
    if (targets?.get(target) === entry) targets.delete(target)
    if (targets?.size === 0) this.#byPrefix.delete(prefix)
    this.#index.remove(entry)
  }
}

/** Slots of the table, a power of two. The table takes eight bytes for each. */
const SLOTS = 16_384

/**
 * Remembers for a short time which keys were requested, so that only those that are requested twice are stored. Memory is fixed:
 * a new key takes the slot of an older one. It holds hashes, not keys, so two keys may be confused; that only stores one early.
 */
export class RepeatedKeys {
  readonly #windowMs: number
  readonly #hashes = new Uint32Array(SLOTS)
  /** Time of the last request for each, in ms modulo 2^32. */
  readonly #times = new Uint32Array(SLOTS)

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Notes a request for a key. True: there was one within the window before. `nowMs` of the monotonic clock. */
  note(key: string, nowMs: number): boolean {
    const hash = hashOf(key)
    const slot = hash & (SLOTS - 1)
    const time = nowMs >>> 0
    const isKnown = this.#hashes[slot] === hash && (time - (this.#times[slot] ?? 0)) >>> 0 <= this.#windowMs
    this.#hashes[slot] = hash
    this.#times[slot] = time
    return isKnown
  }
}

/** FNV-1a, with a last mix so that its low bits depend on every character. Never 0, which marks an empty slot. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash ^= hash >>> 15
  return hash >>> 0 || 1
}
