import { randomUUID } from 'node:crypto'
import type { Clock } from '@svc/core'
import type { CacheStore } from '../entries/cache-store.ts'
import type { EntryFacts, Variance } from '../entries/entry.ts'
import { deadlineOf, freshnessOf } from '../entries/freshness.ts'
import type { LeaseOutcome } from '../fill/lease.ts'
import type { PurgeLedger } from '../purge/purge-ledger.ts'
import { decodeMessage, encodeEntry, encodeVariance } from './entry-message.ts'
import { FETCH, MAX_ENTRY_BYTES, READ, type SharedScript, STORE, UNLOCK } from './scripts.ts'
import { digestOf, digestsOf, labelOfKey, type SharedKeys, type SharedLayer, sharedKeys } from './shared-keys.ts'

/** The connection to Redis. */
export interface SharedCommands {
  /** False: commands fail at once. */
  readonly isUsable: boolean
  /** Runs a script on keys of one slot. Bulk replies are buffers. Rejects if Redis is away, late, or refuses. */
  script(script: SharedScript, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<unknown>
}

/** The store of the instance, as the shared cache uses it. */
type LocalStore = Pick<CacheStore, 'get' | 'put' | 'noteReads'> & { refresh(): void }

/** Counts of look-ups. */
interface SharedCounts {
  readonly hits: { value: number }
  readonly misses: { value: number }
}

interface SharedCacheOptions {
  readonly commands: SharedCommands
  /** `redis.key_prefix` */
  readonly prefix: string
  readonly layer: SharedLayer
  /** Milliseconds that entries live in Redis at most. */
  readonly ttlMs: number
  readonly store: LocalStore
  readonly ledger: PurgeLedger
  readonly clock: Clock
  readonly counts: SharedCounts
}

/** The right to fill a key, of one instance among all. */
export interface SharedRight {
  readonly key: string
  /** The version of the purges before the fill; undefined: Redis does not know of the fill, and its entry is not shared. */
  readonly version: string | undefined
  readonly token: string
}

/** Result of entering a fill. `promoted`: the store of the instance has the entry that another one made. */
type Entered = { readonly kind: 'promoted' } | { readonly kind: 'fill'; readonly right: SharedRight }

/** A lock that its instance does not give back, because it died: then another one may fill. */
const LOCK_MS = 10_000
/** How long the response of a key counts as one for a single request in the other instances. */
const PASS_MS = 2_000
const FIRST_PAUSE_MS = 10
const MAX_PAUSE_MS = 50
/** Bytes on their way to Redis; past them entries are not shared. */
const MAX_IN_FLIGHT_BYTES = 16 << 20
/** How often an entry is read again that a purge overtook. */
const MAX_READS = 3

/**
 * The entries that all instances share in Redis, for one store of this process. A fill enters it when it holds the lease of its
 * instance: it gets the entry of another instance into the store, or the lock of the key, or goes on alone when Redis is away.
 * Nothing here fails a request.
 */
export class SharedCache {
  readonly #options: SharedCacheOptions
  /** Those whose entry is on its way, which ends their lock. */
  readonly #shared = new WeakSet<SharedRight>()
  #bytesInFlight = 0

  constructor(options: SharedCacheOptions) {
    this.#options = options
  }

  /** Looks for the entry of another instance, and waits for one that is being produced. Never rejects. */
  async enter(key: string): Promise<Entered> {
    const { clock } = this.#options
    const token = randomUUID()
    const until = clock.monotonic() + LOCK_MS
    let pauseMs = FIRST_PAUSE_MS
    for (let reads = 0; ; ) {
      const found = await this.#fetch(key, token)
      if (found.kind === 'promoted') return found
      if (found.kind === 'version') return { kind: 'fill', right: { key, version: found.version, token } }
      if (found.kind === 'overtaken' && ++reads >= MAX_READS) break
      if (found.kind === 'away' || clock.monotonic() >= until) break
      if (found.kind === 'held') {
        await paused(clock, pauseMs)
        pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)
      }
    }
    return { kind: 'fill', right: { key, version: undefined, token } }
  }

  /**
   * Looks for the entry of another instance once, and takes no lock. Never rejects.
   * @param wanted created after this time of the wall clock in milliseconds, and not older than the last purge of these tags
   */
  async look(key: string, wanted: { readonly createdAfter: number; readonly tags: readonly string[] }): Promise<Entered> {
    const { entry, versions } = this.#keysOf(key)
    const tags = Buffer.concat(wanted.tags.map(digestOf))
    const found = await this.#read(key, READ, [entry, versions], () => [String(wanted.createdAfter), tags])
    if (found.kind === 'promoted') return found
    return { kind: 'fill', right: { key, version: found.kind === 'version' ? found.version : undefined, token: '' } }
  }

  /**
   * Shares an entry of the store, with the entry or record by which it is found. Does not wait for Redis.
   * @param reads the request inputs of the key, where it is longer than that of the fill because of them
   */
  share(right: SharedRight, key: string, reads?: Variance): void {
    if (right.version === undefined) return
    this.#shareStored(right, key)
    if (key === right.key) return
    if (reads === undefined) this.#shareStored(right, right.key)
    else this.#shareVariance(right, key, reads)
  }

  /** Gives the right back. An entry that was shared has ended the lock already. */
  leave(right: SharedRight, outcome: LeaseOutcome): void {
    const { key, version, token } = right
    if (version === undefined || this.#shared.has(right)) return
    const { lock } = this.#keysOf(key)
    const passMs = outcome === 'pass' ? PASS_MS : 0
    this.#send(UNLOCK, [lock], [token, String(passMs)])
  }

  #fetch(key: string, token: string) {
    const { ledger, store, clock, layer } = this.#options
    const { entry, versions, lock } = this.#keysOf(key)
    return this.#read(key, FETCH, [entry, versions, lock], () => {
      store.refresh()
      const known = store.get(key)
      const usable = known !== undefined && ledger.mayServe(known.seq, known, layer) ? known : undefined
      const freshAt = usable === undefined ? 0 : clock.now()
      return [token, String(LOCK_MS), String(usable?.createdAt ?? 0), String(freshAt)]
    })
  }

  /** Runs a script that reads, and puts the entry that it finds into the store. */
  async #read(key: string, script: SharedScript, keys: readonly string[], argsOf: () => (string | Buffer)[]) {
    const { commands, ledger, counts } = this.#options
    if (!commands.isUsable || ledger.isSharedCacheClosed) return { kind: 'away' } as const
    const fill = ledger.begin()
    try {
      const reply = replyOf(await commands.script(script, keys, argsOf()))
      if (reply.kind !== 'hit') {
        if (reply.kind === 'version') counts.misses.value++
        return reply
      }
      const isPromoted = await this.#promote(key, reply.message, fill)
      if (!isPromoted) return { kind: 'overtaken' } as const
      counts.hits.value++
      return { kind: 'promoted' } as const
    } catch {
      // It is counted, and opens the circuit of the connection.
      return { kind: 'away' } as const
    } finally {
      ledger.end(fill)
    }
  }

  /** Puts the entry of another instance into the store. Its age goes on. */
  async #promote(key: string, bytes: Buffer, fill: { readonly seq: number }): Promise<boolean> {
    const { store, ledger, layer, clock } = this.#options
    const message = decodeMessage(bytes, key, fill.seq)
    if (message === undefined) return false
    if (message.kind === 'variance') {
      const path = key.split('\0')[1] ?? ''
      await store.noteReads(labelOfKey(key), path, message.reads, fill.seq)
      return true
    }
    const { facts, body } = message
    if (facts.label !== labelOfKey(key) || freshnessOf(facts, clock.now()) === 'expired') return false
    return ledger.mayStore(fill, facts, layer) && (await store.put(key, facts, body))
  }

  #shareStored(right: SharedRight, key: string): void {
    const entry = this.#options.store.get(key)
    if (entry === undefined || entry.isMarkedStale || entry.bodyFile !== undefined) return
    if (entry.body.byteLength + this.#bytesInFlight > MAX_IN_FLIGHT_BYTES) return
    this.#store(right, key, entry, encodeEntry(key, entry, entry.body))
  }

  /** The record lives as long as the entry that it leads to, and goes with the whole label. */
  #shareVariance(right: SharedRight, key: string, reads: Variance): void {
    const entry = this.#options.store.get(key)
    if (entry !== undefined) this.#store(right, right.key, { ...entry, tags: [], host: '', path: '' }, encodeVariance(reads))
  }

  #store(right: SharedRight, key: string, facts: EntryFacts, message: Buffer): void {
    const { key: fillKey, version = '', token } = right
    const { ttlMs, clock } = this.#options
    const lifeMs = Math.min(ttlMs, (deadlineOf(facts, 0) ?? Number.POSITIVE_INFINITY) - clock.now())
    if (message.byteLength > MAX_ENTRY_BYTES || lifeMs <= 0) return
    const { entry, versions } = this.#keysOf(key)
    const { lock } = this.#keysOf(fillKey)
    const freshUntil = facts.ttlMs === null ? Number.MAX_SAFE_INTEGER : facts.createdAt + facts.ttlMs
    const times = [String(facts.createdAt), String(freshUntil)]
    this.#shared.add(right)
    this.#bytesInFlight += message.byteLength
    this.#send(
      STORE,
      [entry, versions, lock],
      [token, version, digestsOf(facts), ...times, message, String(Math.ceil(lifeMs))],
      () => {
        this.#bytesInFlight -= message.byteLength
      },
    )
  }

  /** Sends a command, and waits for no reply. The connection counts one that fails. */
  #send(
    script: SharedScript,
    keys: readonly string[],
    args: readonly (string | Buffer)[],
    onDone: () => void = () => undefined,
  ): void {
    this.#options.commands.script(script, keys, args).then(onDone, onDone)
  }

  #keysOf(key: string): SharedKeys {
    return sharedKeys(this.#options.prefix, this.#options.layer, key)
  }
}

type FetchReply =
  | { readonly kind: 'hit'; readonly message: Buffer }
  /** The fill is this one's: with the lock, or beside others. */
  | { readonly kind: 'version'; readonly version: string | undefined }
  | { readonly kind: 'held' }

/** @throws TypeError if it is no reply of the script */
function replyOf(reply: unknown): FetchReply {
  const [word, value] = Array.isArray(reply) ? reply : []
  switch (String(word)) {
    case 'hit':
      if (Buffer.isBuffer(value)) return { kind: 'hit', message: value }
      break
    case 'lock':
    case 'miss':
      return { kind: 'version', version: String(value) }
    case 'pass':
    case 'full':
      return { kind: 'version', version: undefined }
    case 'held':
      return { kind: 'held' }
  }
  throw new TypeError('unexpected reply of Redis to a read of the shared cache')
}

function paused(clock: Pick<Clock, 'after'>, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}
