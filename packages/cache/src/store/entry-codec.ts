import type { EntryFacts } from '../entries/entry.ts'
import { idOf } from './index-keys.ts'

export const HEAD_BYTES = 56

/** Flags of a head. */
export const DEAD = 1
export const STALE = 2
const QUERY_KEYED = 4
const NEWCOMER = 8

const MAX_HITS = 2 ** 32 - 1

/** Offsets in a head. */
const AT = {
  flags: 0,
  checksum: 4,
  accessStamp: 8,
  deadlineAt: 16,
  seq: 24,
  recordBytes: 32,
  factsBytes: 36,
  fileBytes: 40,
  labelNumber: 48,
  hits: 52,
} as const

/**
 * The part of an entry that changes while it is stored, and the data that decides it: small and of one size, so that a purge
 * rewrites little. What stays the same (facts and body) is the entry's record.
 */
export interface EntryHead {
  /** Purged or evicted, but not yet deleted: reads as a miss. */
  readonly isDead: boolean
  readonly isMarkedStale: boolean
  readonly isQueryKeyed: boolean
  /** Requested once so far, under a key that clients can make up: evicted first while its label has many of them. */
  readonly isNewcomer: boolean
  /** CRC-32 of the record. */
  readonly checksum: number
  /** Last access as far as it has been merged: see `accessStamp`. */
  readonly accessStamp: number
  /** When the entry is of no use any more, in milliseconds of the wall clock; 0: never. */
  readonly deadlineAt: number
  readonly seq: number
  readonly recordBytes: number
  /** Bytes at the beginning of the record that are facts. */
  readonly factsBytes: number
  /** Bytes of the file beside the store that belongs to the entry; 0: none does. */
  readonly fileBytes: number
  /** Number of the label: see `Usage`. */
  readonly labelNumber: number
  /** Reads since it was stored, as far as they have been merged. */
  readonly hits: number
}

export function encodeHead(head: EntryHead): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES)
  const state = (head.isDead ? DEAD : 0) | (head.isMarkedStale ? STALE : 0)
  bytes[AT.flags] = state | (head.isQueryKeyed ? QUERY_KEYED : 0) | (head.isNewcomer ? NEWCOMER : 0)
  bytes.writeUInt32LE(head.checksum, AT.checksum)
  bytes.writeDoubleLE(head.accessStamp, AT.accessStamp)
  bytes.writeDoubleLE(head.deadlineAt, AT.deadlineAt)
  bytes.writeDoubleLE(head.seq, AT.seq)
  bytes.writeUInt32LE(head.recordBytes, AT.recordBytes)
  bytes.writeUInt32LE(head.factsBytes, AT.factsBytes)
  bytes.writeDoubleLE(head.fileBytes, AT.fileBytes)
  bytes.writeUInt32LE(head.labelNumber, AT.labelNumber)
  bytes.writeUInt32LE(Math.min(head.hits, MAX_HITS), AT.hits)
  return bytes
}

export function decodeHead(bytes: Buffer): EntryHead {
  const flags = bytes.readUInt8(AT.flags)
  return {
    isDead: (flags & DEAD) !== 0,
    isMarkedStale: (flags & STALE) !== 0,
    isQueryKeyed: (flags & QUERY_KEYED) !== 0,
    isNewcomer: (flags & NEWCOMER) !== 0,
    checksum: bytes.readUInt32LE(AT.checksum),
    accessStamp: bytes.readDoubleLE(AT.accessStamp),
    deadlineAt: bytes.readDoubleLE(AT.deadlineAt),
    seq: bytes.readDoubleLE(AT.seq),
    recordBytes: bytes.readUInt32LE(AT.recordBytes),
    factsBytes: bytes.readUInt32LE(AT.factsBytes),
    fileBytes: bytes.readDoubleLE(AT.fileBytes),
    labelNumber: bytes.readUInt32LE(AT.labelNumber),
    hits: bytes.readUInt32LE(AT.hits),
  }
}

/** True if a head is that of an entry which a purge of this number is about: the rest need not be decoded to tell. */
export function isOlderThan(head: Buffer, purgeNumber: number): boolean {
  return (head.readUInt8(AT.flags) & DEAD) === 0 && head.readDoubleLE(AT.seq) < purgeNumber
}

/** Sets a flag in a head that was copied for it. */
export function setFlag(head: Buffer, flag: typeof DEAD | typeof STALE): void {
  head.writeUInt8(head.readUInt8(AT.flags) | flag, AT.flags)
}

/** An entry on its way into the store. */
export interface NewEntry {
  readonly key: string
  readonly facts: EntryFacts
  readonly body: Uint8Array
}

/** Facts as they lie in a record: those that are in the head are left out. */
type PackedFacts = [
  key: string,
  isResponse: 0 | 1,
  label: string,
  path: string,
  host: string,
  tags: readonly string[],
  createdAt: number,
  ttlMs: number | null,
  swrMs: number,
  status: number,
  headers: EntryFacts['headers'],
  bodyFile?: string,
]

/** Facts and body in one piece, and how many bytes of it are facts. */
export function encodeRecord({ key, facts, body }: NewEntry): { record: Buffer; factsBytes: number } {
  const packed: PackedFacts = [
    key,
    facts.kind === 'response' ? 1 : 0,
    facts.label,
    facts.path,
    facts.host,
    facts.tags,
    facts.createdAt,
    facts.ttlMs,
    facts.swrMs,
    facts.status,
    facts.headers,
  ]
  if (facts.bodyFile !== undefined) packed.push(facts.bodyFile.name)
  const text = JSON.stringify(packed)
  const factsBytes = Buffer.byteLength(text)
  const record = Buffer.allocUnsafe(factsBytes + body.byteLength)
  record.write(text, 0)
  record.set(body, factsBytes)
  return { record, factsBytes }
}

/** Key and facts of an entry, from its head and its record, which is not kept. */
export function decodeFacts(head: EntryHead, record: Buffer): { key: string; facts: EntryFacts } {
  const packed = unpackFacts(head, record)
  return { key: packed[0], facts: factsOf(head, packed) }
}

/** The decoded record of an entry. */
function unpackFacts({ factsBytes }: EntryHead, record: Buffer): PackedFacts {
  return JSON.parse(record.toString('utf8', 0, factsBytes)) as PackedFacts
}

/** The facts of an entry, from both of its parts. */
function factsOf(head: EntryHead, packed: PackedFacts): EntryFacts {
  const [, isResponse, label, path, host, tags, createdAt, ttlMs, swrMs, status, headers, file] = packed
  const { isQueryKeyed, isMarkedStale, seq } = head
  const facts: EntryFacts = {
    kind: isResponse === 1 ? 'response' : 'data',
    label,
    path,
    host,
    isQueryKeyed,
    tags,
    createdAt,
    ttlMs,
    swrMs,
    isMarkedStale,
    seq,
    status,
    headers,
  }
  return file === undefined ? facts : { ...facts, bodyFile: { name: file, bytes: head.fileBytes } }
}

/** How many entries are remembered: past them all are forgotten. */
const MAX_ENTRIES = 256
/** Longer facts are not remembered. */
const MAX_FACTS_BYTES = 4096

interface Known {
  readonly id: Buffer
  readonly bytes: Buffer
  readonly packed: PackedFacts
}

/**
 * Decoded metadata of recently read entries: an entry that is read often is not decoded each time. A cached
 * decoding is used only if the record still has the same bytes.
 */
export class RecentFacts {
  readonly #known = new Map<string, Known>()

  /** Location of an entry. Not to be changed. */
  idOf(key: string): Buffer {
    return this.#known.get(key)?.id ?? idOf(key)
  }

  /**
   * The facts of the entry of a key. Undefined: the record is that of another key. Their lists are frozen, and the same ones as long as
   * the entry is remembered.
   */
  read(key: string, head: EntryHead, record: Buffer): EntryFacts | undefined {
    const known = this.#known.get(key)
    if (known !== undefined && isSame(known.bytes, record, head.factsBytes)) return factsOf(head, known.packed)
    const packed = unpackFacts(head, record)
    if (packed[0] !== key) return undefined
    if (head.factsBytes <= MAX_FACTS_BYTES) this.#remember(key, packed, record.subarray(0, head.factsBytes))
    return factsOf(head, packed)
  }

  #remember(key: string, packed: PackedFacts, bytes: Buffer): void {
    if (this.#known.size >= MAX_ENTRIES) this.#known.clear()
    for (const part of packed) if (Array.isArray(part)) Object.freeze(part)
    this.#known.set(key, { id: idOf(key), bytes: Buffer.from(bytes), packed })
  }
}

/** The decoded facts of the entry of a key. Undefined: the record is that of another key. */
export function readFacts(key: string, head: EntryHead, record: Buffer): EntryFacts | undefined {
  const found = decodeFacts(head, record)
  return found.key === key ? found.facts : undefined
}

function isSame(known: Buffer, record: Buffer, length: number): boolean {
  return known.byteLength === length && record.byteLength >= length && record.subarray(0, length).equals(known)
}
