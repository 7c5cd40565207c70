import { hash } from 'node:crypto'
import type { CacheStore, Fill, PurgeLedger, SecondAsk, StoredEntry, Variance } from '@svc/cache'
import type { Clock } from '@svc/core'
import { formatHttpDate, type HeaderList, isEngineField, type ResponseHead } from '@svc/http'
import type { CacheFacts } from '@svc/protocol'
import { isOfDynamicRoute, isOpenEnded, isWider, keyOf, NARROW, type PageAddress, purgeableOf, union } from './page-address.ts'
import { type DefaultLifetime, type Storability, storabilityOf } from './storability.ts'

/** What keeping works with. */
export interface KeeperOptions {
  readonly store: CacheStore
  readonly ledger: PurgeLedger
  readonly admission: SecondAsk
  readonly clock: Clock
}

/** A response that has been made whole. */
export interface Made {
  readonly head: ResponseHead
  readonly facts: CacheFacts | undefined
  readonly body: Buffer
}

/** A response that may be kept for others, ready to be stored and to be sent. */
export interface Keepable {
  readonly verdict: 'store'
  readonly address: PageAddress
  /** What the key depends on, with all that is known of the path. */
  readonly variance: Variance
  readonly key: string
  readonly entry: StoredEntry
}

export type Judgement = Keepable | Exclude<Storability, { verdict: 'store' }>

/** What became of a response that was to be stored. `purged`: a purge came while it was made. */
export type KeptOutcome = 'stored' | 'purged' | 'refused'

/** Turns responses into entries of the store. */
export class Keeper {
  readonly #options: KeeperOptions

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  /** Decides what may become of a response that a fill has made. */
  judge(made: Made, address: PageAddress, defaults: DefaultLifetime, fill: Fill): Judgement {
    const { head, facts, body } = made
    const decision = storabilityOf({ ...head, facts }, address, defaults)
    if (decision.verdict !== 'store') return decision
    const known = this.#options.store.variance(address.label, address.path)
    const variance = known === undefined || known.isOutdated ? decision.reads : union(known, decision.reads)
    const createdAt = this.#options.clock.now()
    const entry: StoredEntry = {
      kind: 'response',
      ...purgeableOf(address, variance, facts?.tags ?? []),
      isQueryKeyed: isOpenEnded(address, variance, head.status),
      createdAt,
      ttlMs: decision.ttlMs,
      swrMs: decision.swrMs,
      isMarkedStale: false,
      seq: fill.seq,
      status: head.status,
      headers: storedHeaders(head.headers, body, createdAt),
      body,
    }
    return { verdict: 'store', address, variance, key: keyOf(address, variance), entry }
  }

  /** Whether the entry is to be stored at all: one whose key clients can make up must have been asked for twice. */
  isAdmitted({ entry, key }: Keepable, flightKey: string, isRepeated: boolean): boolean {
    if (!entry.isQueryKeyed) return true
    const { admission, clock } = this.#options
    return key === flightKey ? isRepeated : admission.ask(key, clock.monotonic())
  }

  /** Whether no purge has come since the fill began that takes the entry. */
  isCurrent({ entry }: Keepable, fill: Fill): boolean {
    return this.#options.ledger.mayStore(fill, entry)
  }

  /**
   * Stores a response. Resolves when every process can read it.
   * @param isRepeated whether it was requested before
   */
  async keep(keepable: Keepable, fill: Fill, isRepeated: boolean): Promise<KeptOutcome> {
    const { store } = this.#options
    const { address, variance, key, entry } = keepable
    const { label, path } = address
    const known = store.variance(label, path)
    // What code read that is not in service any more says nothing of what the next render will read.
    const isNews = known?.isOutdated === true ? this.isCurrent(keepable, fill) : isWider(variance, known ?? NARROW)
    if (isNews) await store.noteReads(label, path, variance, fill.seq)
    if (!this.isCurrent(keepable, fill)) return 'purged'
    const { body, ...facts } = entry
    const isNewcomer = !isRepeated && isOfDynamicRoute(address)
    return (await store.put(key, { ...facts, isNewcomer }, body)) ? 'stored' : 'refused'
  }
}

/** The fields of a response as they are kept: with validators, without what belongs to a connection. */
function storedHeaders(headers: HeaderList, body: Buffer, createdAt: number): HeaderList {
  const kept: (readonly [name: string, value: string])[] = []
  const names = new Set<string>()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (isEngineField(lower) || lower === 'age' || lower === 'cache-status') continue
    names.add(lower)
    kept.push([lower, value])
  }
  if (!names.has('etag')) kept.push(['etag', `"${hash('sha1', body, 'base64url')}"`])
  // A second back: engines renew their Date once a second, and none may be earlier than this (RFC 9110 section 8.8.2.1).
  if (!names.has('last-modified')) kept.push(['last-modified', formatHttpDate(createdAt - 1000)])
  return kept
}
