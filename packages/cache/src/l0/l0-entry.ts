import { hash } from 'node:crypto'
import type { ContentCoding, ParsedTarget, ResponseHead } from '@svc/http'
import type { Purgeable } from '../purge/purge.ts'
import { AgingHead } from './l0-head.ts'
import type { LabelShelf, Roomed } from './l0-room.ts'

/** The parts of an L0 key beside the path and the query. */
export interface L0Origin {
  readonly scheme: 'http' | 'https'
  /** As the client named it: lower case, with its port if it named one. */
  readonly host: string
  /** Key part of the listen address, without a slash; undefined if all addresses serve the same. */
  readonly address?: string | undefined
}

/** The key of a response: its origin and coding, then its path and query. */
export interface L0Key {
  readonly prefix: string
  readonly target: string
}

const codingMarks: Readonly<Record<ContentCoding, string>> = { br: 'b', zstd: 'z', gzip: 'g', identity: 'i' }

/** The part of a key before the path. No host holds a slash, and every path begins with one. */
export function l0KeyPrefix({ scheme, host, address }: L0Origin, coding: ContentCoding): string {
  const origin = `${codingMarks[coding]}${scheme === 'http' ? 'p' : 's'}${host}`
  return address === undefined ? origin : `${origin} ${address}`
}

/** The part of a key behind the prefix: the normalised path, and the query as sent. Costs nothing when the target is normal. */
export function l0KeyTarget(target: string, { path, rawPath, query }: ParsedTarget): string {
  if (path === rawPath) return target
  return query === '' ? path : `${path}?${query}`
}

/** Memory cost of an entry beside its texts and its body: objects, its places in the LRU list and in the index (measured). */
const OVERHEAD_BYTES = 1_600
/** Memory cost of each tag in the index. */
const TAG_BYTES = 64
/** 132 bits. */
const DIGEST_CHARS = 22
/** Interval of the validity checks of an entry. */
const CHECK_MS = 1_000

/** Lifetime of an entry, and its owner. */
export interface L0Facts {
  /** Addresses that a purge may match: the response under the path of the request, and under the one that it was rewritten to. */
  readonly purgeables: readonly Purgeable[]
  /** End of freshness, ms of the monotonic clock. */
  readonly expiresAt: number
  readonly dependsOnCookies: boolean
  readonly isCurrent?: (() => boolean) | undefined
  /** True if its Cache-Control counts from its creation, as Age does, and so stays as it is. */
  readonly keepsLifetime?: boolean | undefined
  /** True if the response does not say that it comes from this cache. */
  readonly hidesStatus?: boolean | undefined
}

/** Makes a head ready to write. */
export type MakeBlock<Block> = (head: ResponseHead) => Block

/** One response of L0, ready to write. `Block` is what the engine writes a head from; `Facts` may say more of the response. */
export class L0Entry<Block, Facts extends L0Facts = L0Facts> implements Roomed<L0Entry<Block, Facts>> {
  readonly key: L0Key
  /** The key in one text. */
  readonly name: string
  /** Whose share it counts to. */
  readonly label: string
  readonly facts: Facts
  readonly body: Uint8Array
  readonly head: AgingHead
  readonly etag: string | undefined
  /** Memory that the entry takes, an estimate. */
  readonly bytes: number
  block: Block
  shelf: LabelShelf<L0Entry<Block, Facts>> | undefined
  older: L0Entry<Block, Facts> | undefined
  newer: L0Entry<Block, Facts> | undefined
  /** From when on (monotonic ms) `renew` must be called before the entry is used. */
  dueAt = 0
  /** Responses that it has given. */
  hits = 0
  /** Monotonic ms. */
  readonly storedAt: number
  readonly #makeBlock: MakeBlock<Block>
  #checkAt: number
  /** Whole seconds since it was stored, as the heads say. */
  #seconds = 0
  #notModified: Block | undefined
  #digest: string | undefined

  constructor(key: L0Key, facts: Facts, head: ResponseHead, body: Uint8Array, makeBlock: MakeBlock<Block>, nowMs: number) {
    this.key = key
    this.name = key.prefix + key.target
    this.label = facts.purgeables[0]?.label ?? ''
    this.facts = facts
    this.body = body
    this.head = new AgingHead(head, facts)
    this.etag = this.head.etag
    this.bytes = sizeOf(this.name, facts, head, body)
    this.#makeBlock = makeBlock
    this.storedAt = nowMs
    this.#checkAt = facts.isCurrent === undefined ? Number.POSITIVE_INFINITY : nowMs + CHECK_MS
    this.block = makeBlock(this.head.after(0))
    this.shelf = undefined
    this.older = undefined
    this.newer = undefined
    this.#setDue(nowMs)
  }

  /** The head of the 304 in place of it; built on first use. */
  get notModified(): Block {
    this.#notModified ??= this.#makeBlock(this.head.notModifiedAfter(this.#seconds))
    return this.#notModified
  }

  /** Of its name: listings are in this order, which clients cannot choose. Costs memory from its first use on. */
  get digest(): string {
    this.#digest ??= l0Digest(this.name)
    return this.#digest
  }

  /** Brings the entry up to date; false when it may not be used any more. */
  renew(nowMs: number): boolean {
    if (nowMs >= this.facts.expiresAt) return false
    if (nowMs >= this.#checkAt) {
      if (this.facts.isCurrent?.() === false) return false
      this.#checkAt = nowMs + CHECK_MS
    }
    if (this.head.ages) {
      this.#seconds = Math.floor((nowMs - this.storedAt) / 1000)
      this.block = this.#makeBlock(this.head.after(this.#seconds))
      this.#notModified = undefined
    }
    this.#setDue(nowMs)
    return true
  }

  #setDue(nowMs: number): void {
    const ageMs = nowMs - this.storedAt
    const nextSecondAt = this.head.ages ? nowMs + 1000 - (ageMs % 1000) : Number.POSITIVE_INFINITY
    this.dueAt = Math.min(this.facts.expiresAt, this.#checkAt, nextSecondAt)
  }
}

/** The digest of an entry's name. */
function l0Digest(name: string): string {
  return hash('sha256', name, 'base64url').slice(0, DIGEST_CHARS)
}

/** Texts count twice: as the head and as that of the 304. */
function sizeOf(name: string, facts: L0Facts, head: ResponseHead, body: Uint8Array): number {
  const headChars = head.headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)
  const tags = facts.purgeables.flatMap((purgeable) => purgeable.tags)
  const tagChars = tags.reduce((sum, tag) => sum + tag.length + TAG_BYTES, 0)
  return OVERHEAD_BYTES + body.byteLength + 2 * headChars + 2 * name.length + tagChars
}
