import type { EntryFacts, Variance } from '../entries/entry.ts'
import { decodeFacts, type EntryHead, encodeRecord } from '../store/entry-codec.ts'

/** An entry as another instance left it. Facts that only its own store knows are those of a new entry. */
interface SharedEntry {
  readonly kind: 'entry'
  readonly facts: EntryFacts
  readonly body: Uint8Array
}

/** The request inputs that pages of a path read: their entries lie under longer keys. */
interface SharedVariance {
  readonly kind: 'variance'
  readonly reads: Variance
}

/** Raised with the format: entries of another version are misses. */
const FORMAT = 1
const HEADER_BYTES = 6
const FLAG = { isQueryKeyed: 1, isNewcomer: 2, isVariance: 4, query: 8, host: 16 } as const

export function encodeEntry(key: string, facts: EntryFacts, body: Uint8Array): Buffer {
  const { record, factsBytes } = encodeRecord({ key, facts, body })
  const flags = (facts.isQueryKeyed ? FLAG.isQueryKeyed : 0) | (facts.isNewcomer === true ? FLAG.isNewcomer : 0)
  return Buffer.concat([headerOf(flags, factsBytes), record])
}

export function encodeVariance({ query, host }: Variance): Buffer {
  return headerOf(FLAG.isVariance | (query ? FLAG.query : 0) | (host ? FLAG.host : 0), 0)
}

/**
 * Reads the entry that an instance has stored under a key.
 * @param seq number of the last purge that was known before it was read
 * @returns undefined for a damaged message, or one of another version or key
 */
export function decodeMessage(message: Buffer, key: string, seq: number): SharedEntry | SharedVariance | undefined {
  if (message.byteLength < HEADER_BYTES || message[0] !== FORMAT) return undefined
  const flags = message.readUInt8(1)
  if ((flags & FLAG.isVariance) !== 0) {
    return { kind: 'variance', reads: { query: (flags & FLAG.query) !== 0, host: (flags & FLAG.host) !== 0 } }
  }
  const factsBytes = message.readUInt32LE(2)
  const record = message.subarray(HEADER_BYTES)
  if (factsBytes > record.byteLength) return undefined
  const isQueryKeyed = (flags & FLAG.isQueryKeyed) !== 0
  const isNewcomer = (flags & FLAG.isNewcomer) !== 0
  try {
    const decoded = decodeFacts({ ...NEW_HEAD, factsBytes, isQueryKeyed, seq }, record)
    if (decoded.key !== key) return undefined
    return { kind: 'entry', facts: { ...decoded.facts, isNewcomer }, body: record.subarray(factsBytes) }
  } catch {
    // The facts are no JSON.
    return undefined
  }
}

function headerOf(flags: number, factsBytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header[0] = FORMAT
  header[1] = flags
  header.writeUInt32LE(factsBytes, 2)
  return header
}

const NEW_HEAD: EntryHead = {
  isDead: false,
  isMarkedStale: false,
  isQueryKeyed: false,
  isNewcomer: false,
  checksum: 0,
  accessStamp: 0,
  deadlineAt: 0,
  seq: 0,
  recordBytes: 0,
  factsBytes: 0,
  fileBytes: 0,
  labelNumber: 0,
  hits: 0,
}
