import { join } from 'node:path'
import type { Clock } from '@svc/core'
import type { HeaderList } from '@svc/http'
import type { BodyFileRef, EntryFacts, StoredEntry } from '../entries/entry.ts'
import { EntryStore, type EntryStoreOptions } from '../store/entry-store.ts'
import { uriTag } from '../tags/tags.ts'
import { BodyFiles } from './body-files.ts'
import type { ProxyAddress } from './proxy-address.ts'
import type { Storing } from './storable.ts'
import { variantOf } from './vary.ts'

/** Larger bodies lie in files beside the store. */
export const MAX_INLINE_BYTES = 64 << 10
/** A body may take at most this share of the cache. */
const BODY_SHARE = 4
/** Maximum share of the bodies that a process is writing, over all sites: no site's usage counts them yet. */
const INCOMING_SHARE = 2
/** More variants of one URI than this are not kept: the one that was not used for the longest time goes. */
const MAX_VARIANTS = 64
/** How long an entry is kept once it is stale: it may be validated, or stand in for an upstream that is down. */
const GRACE_MS = 24 * 3_600_000
/** Entries are bounded by bytes; each has at least its facts. */
const MIN_ENTRY_BYTES = 256
/** Names of the fields that answers of a URI depend on, in an entry of its own: it has no status. */
const VARY_STATUS = 0

interface ProxyStoreOptions {
  /** `cache.dir` of the instance; the store lies in `proxy` below it. */
  readonly cacheDir: string
  /** Most bytes of entries and bodies; 0: nothing is stored. */
  readonly maxBytes: number
  readonly clock: Clock
  readonly onProblem: (error: Error) => void
}

/** A response of the store, and where it lies. */
export interface ProxyEntry {
  readonly key: string
  /** `body` is empty where it lies in a file; else valid until the end of the turn. */
  readonly entry: StoredEntry
}

/** The result of a look-up. */
export interface ProxyLookup {
  readonly found: ProxyEntry | undefined
  /** Key of the response to such a request, as far as its variance is known. */
  readonly key: string
  /** True if there are answers to other requests for the same resource. */
  readonly hasVariants: boolean
}

/** A response to store. */
interface ProxyResponse {
  readonly address: ProxyAddress
  /** Of the request that it answers. */
  readonly request: HeaderList
  readonly status: number
  readonly storing: Storing
  readonly body: Uint8Array | BodyFileRef
  /** Number of the last purge that was known when the request was sent. */
  readonly seq: number
}

/** The store of the proxy cache, shared by the master, which opens it, and the workers, which join it. */
export class ProxyStore {
  readonly entries: EntryStore
  readonly files: BodyFiles
  readonly #maxBytes: number
  readonly #openedAt: number

  private constructor(entries: EntryStore, files: BodyFiles, { maxBytes, clock }: ProxyStoreOptions) {
    this.entries = entries
    this.files = files
    this.#maxBytes = maxBytes
    this.#openedAt = clock.now()
  }

  /** Opens the store as the master of an instance, and deletes the leftovers of an earlier one. */
  static async open(options: ProxyStoreOptions): Promise<ProxyStore> {
    const files = filesOf(options)
    files.clearIncoming()
    const entries = await EntryStore.open(storeOptions(options, files))
    return new ProxyStore(entries, files, options)
  }

  /** Opens the store as another process of the instance, after its master. */
  static async join(options: ProxyStoreOptions): Promise<ProxyStore> {
    const files = filesOf(options)
    return new ProxyStore(await EntryStore.join(storeOptions(options, files)), files, options)
  }

  /** Longest body that is kept. */
  get maxBodyBytes(): number {
    return this.entries.problem === undefined ? Math.floor(this.#maxBytes / BODY_SHARE) : 0
  }

  /** Looks up the stored response for a request, among those that were there when this turn of the event loop began. */
  find({ key }: ProxyAddress, request: HeaderList): ProxyLookup {
    const first = this.entries.get(key, true)
    if (first === undefined) return { found: undefined, key, hasVariants: false }
    if (first.status !== VARY_STATUS) return { found: { key, entry: first }, key, hasVariants: false }
    const variant = variantKey(key, namesOf(first), request)
    const entry = this.entries.get(variant, true)
    return { found: entry && { key: variant, entry }, key: variant, hasVariants: true }
  }

  /** Notes that a copy of an entry was used. False: the store has no such entry any more. */
  touch(key: string): boolean {
    const isStored = this.entries.has(key)
    if (isStored) this.entries.touch(key)
    return isStored
  }

  /** True if anything is stored for a URI. */
  hasUri(uri: string): boolean {
    return this.entries.countTagged(uriTag(uri)) > 0
  }

  /** Key of a response with these fields. */
  keyOf(address: ProxyAddress, vary: readonly string[], request: HeaderList): string {
    return vary.length === 0 ? address.key : variantKey(address.key, vary, request)
  }

  /** Stores a response. Resolves with true if it is visible to all processes now. */
  async put(response: ProxyResponse): Promise<boolean> {
    const { address, request, storing, body } = response
    const { vary } = storing
    const key = this.keyOf(address, vary, request)
    const known = vary.length === 0 ? undefined : this.entries.get(address.key)
    const isNamed = known?.status === VARY_STATUS && namesOf(known).join() === vary.join()
    // Both in this turn: a later purge waits for earlier puts.
    const names = vary.length === 0 || isNamed ? true : this.entries.put(address.key, varyFacts(response), new Uint8Array(0))
    const entry = this.entries.put(key, factsOf(response), body instanceof Uint8Array ? body : new Uint8Array(0))
    const isStored = (await entry) && (await names)
    if (isStored && vary.length > 0) this.entries.trimTagged(uriTag(address.uri), MAX_VARIANTS + 1)
    return isStored
  }

  /** Writes an entry again with other facts; its body stays. */
  putAgain(key: string, facts: EntryFacts, body: Uint8Array): Promise<boolean> {
    return this.entries.put(key, facts, body)
  }

  /** Deletes files that belong to no entry since before the store was opened. Resolves with how many there were. */
  sweepFiles(): Promise<number> {
    return this.files.sweep(this.#openedAt, (name) => this.entries.ownsFile(name) !== false)
  }
}

function filesOf({ cacheDir, maxBytes, onProblem }: ProxyStoreOptions): BodyFiles {
  return new BodyFiles(join(cacheDir, 'proxy'), Math.floor(maxBytes / INCOMING_SHARE), onProblem)
}

function storeOptions({ cacheDir, maxBytes, clock }: ProxyStoreOptions, files: BodyFiles): EntryStoreOptions {
  const maxEntries = Math.floor(maxBytes / MIN_ENTRY_BYTES)
  return { cacheDir, layer: 'proxy', maxEntries, maxBytes, graceMs: GRACE_MS, clock, files }
}

function variantKey(key: string, fields: readonly string[], request: HeaderList): string {
  return `${key}\0vary\0${variantOf(fields, request)}`
}

function namesOf({ headers }: EntryFacts): readonly string[] {
  return headers.map(([name]) => name)
}

type Belonging = Pick<EntryFacts, 'label' | 'path' | 'host' | 'isQueryKeyed' | 'tags' | 'isMarkedStale' | 'seq'>

function belongingOf({ address, seq }: ProxyResponse): Belonging {
  const { label, path, hostname, uri } = address
  return { label, path, host: hostname, isQueryKeyed: false, tags: [uriTag(uri)], isMarkedStale: false, seq }
}

function factsOf(response: ProxyResponse): EntryFacts {
  const { status, storing, body } = response
  const { createdAt, ttlMs, swrMs, headers } = storing
  const facts = { kind: 'response', ...belongingOf(response), createdAt, ttlMs, swrMs, status, headers } as const
  return body instanceof Uint8Array ? facts : { ...facts, bodyFile: body }
}

/** Lasts as long as anything that is found by it may. */
function varyFacts(response: ProxyResponse): EntryFacts {
  const headers = response.storing.vary.map((name) => [name, ''] as const)
  const { createdAt } = response.storing
  return { kind: 'data', ...belongingOf(response), createdAt, ttlMs: null, swrMs: 0, status: VARY_STATUS, headers }
}
