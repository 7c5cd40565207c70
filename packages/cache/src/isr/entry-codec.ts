import type { EntryFacts, StoredEntry } from '../store/entry.ts'

/** Bytes of a head. */
export const HEAD_BYTES = 32

const DEAD = 1
const STALE = 2
const QUERY_KEYED = 4

/** Offsets in a head. */
const AT = { flags: 0, accessedAt: 4, deadlineAt: 8, recordBytes: 12, seq: 16, factsBytes: 24 } as const

/**
 * What changes in an entry while it is stored, and what tells whether it must change: small and of one size, so that a purge
 * rewrites little. What stays the same (facts and body) is the entry's record.
 */
export interface EntryHead {
  /** Purged, but not yet cleared away: reads as a miss. */
  readonly isDead: boolean
  readonly isMarkedStale: boolean
  readonly isQueryKeyed: boolean
  /** Last access as far as it has been merged, in seconds of the wall clock. */
  readonly accessedAtSeconds: number
  /** When the entry is of no use any more, in seconds of the wall clock; 0: never. */
  readonly deadlineSeconds: number
  readonly recordBytes: number
  /** Bytes at the beginning of the record that are facts. */
  readonly factsBytes: number
  readonly seq: number
}

export function encodeHead(head: EntryHead): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES)
  bytes[AT.flags] = (head.isDead ? DEAD : 0) | (head.isMarkedStale ? STALE : 0) | (head.isQueryKeyed ? QUERY_KEYED : 0)
  bytes.writeUInt32LE(head.accessedAtSeconds, AT.accessedAt)
  bytes.writeUInt32LE(head.deadlineSeconds, AT.deadlineAt)
  bytes.writeUInt32LE(head.recordBytes, AT.recordBytes)
  bytes.writeDoubleLE(head.seq, AT.seq)
  bytes.writeUInt32LE(head.factsBytes, AT.factsBytes)
  return bytes
}

export function decodeHead(bytes: Buffer): EntryHead {
  const flags = bytes.readUInt8(AT.flags)
  return {
    isDead: (flags & DEAD) !== 0,
    isMarkedStale: (flags & STALE) !== 0,
    isQueryKeyed: (flags & QUERY_KEYED) !== 0,
    accessedAtSeconds: bytes.readUInt32LE(AT.accessedAt),
    deadlineSeconds: bytes.readUInt32LE(AT.deadlineAt),
    recordBytes: bytes.readUInt32LE(AT.recordBytes),
    factsBytes: bytes.readUInt32LE(AT.factsBytes),
    seq: bytes.readDoubleLE(AT.seq),
  }
}

/** Facts as they lie in a record: those that are in the head are left out. */
type PackedFacts = readonly [
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
]

/** Facts and body in one piece, and how many bytes of it are facts. */
export function encodeRecord(key: string, facts: EntryFacts, body: Uint8Array): { record: Buffer; factsBytes: number } {
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
  const text = JSON.stringify(packed)
  const factsBytes = Buffer.byteLength(text)
  const record = Buffer.allocUnsafe(factsBytes + body.byteLength)
  record.write(text, 0)
  record.set(body, factsBytes)
  return { record, factsBytes }
}

/** The entry that head and record make, with its key. The body is a view of the record. */
export function decodeRecord(head: EntryHead, record: Buffer): { key: string; entry: StoredEntry } {
  const [key, isResponse, label, path, host, tags, createdAt, ttlMs, swrMs, status, headers] = JSON.parse(
    record.toString('utf8', 0, head.factsBytes),
  ) as PackedFacts
  const { isQueryKeyed, isMarkedStale, seq } = head
  const body = record.subarray(head.factsBytes)
  const kind = isResponse === 1 ? 'response' : 'data'
  const facts = { kind, label, path, host, isQueryKeyed, tags, createdAt, ttlMs, swrMs, isMarkedStale, seq } as const
  return { key, entry: { ...facts, status, headers, body } }
}
