import type { KnownVariance, Variance } from '../entries/entry.ts'
import type { Databases } from './databases.ts'
import { idOf, pathText } from './index-keys.ts'

const QUERY = 1
const HOST = 2
/** One byte of flags, then the number of the last purge that the render knew which began the record. */
const RECORD_BYTES = 9
const NUMBER_BYTES = 8

/** The key of a variance record: with and without trailing slash a path has one. */
export function varianceKey(label: string, path: string): Buffer {
  return idOf(pathText(path, label))
}

/** The key of the number of the purge with which code of a label changed last. No path begins like this. */
function codeKey(label: string): Buffer {
  return idOf(`code\0${label}`)
}

function numberBytes(number: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES)
  bytes.writeDoubleBE(number)
  return bytes
}

function encodeRecord({ query, host }: Variance, seq: number): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES)
  bytes.writeUInt8((query ? QUERY : 0) | (host ? HOST : 0))
  bytes.writeDoubleBE(seq, 1)
  return bytes
}

/** A record with the number that it began with. */
interface VarianceRecord extends KnownVariance {
  readonly seq: number
}

function readRecord({ variances }: Databases, label: string, path: string): VarianceRecord | undefined {
  const bytes = variances.getBinary(varianceKey(label, path))
  if (bytes === undefined) return undefined
  const flags = bytes.readUInt8(0)
  const seq = bytes.readDoubleBE(1)
  const changedAt = variances.getBinary(codeKey(label))
  const isOutdated = changedAt !== undefined && seq < changedAt.readDoubleBE(0)
  return { query: (flags & QUERY) !== 0, host: (flags & HOST) !== 0, isOutdated, seq }
}

/** The variance record of a path; undefined: there is none. */
export function readVariance(databases: Databases, label: string, path: string): KnownVariance | undefined {
  const record = readRecord(databases, label, path)
  return record && { query: record.query, host: record.host, isOutdated: record.isOutdated }
}

/** The new state of a record. */
interface NextVariance extends Variance {
  /** Entries were found by more than it says now. */
  readonly isNarrower: boolean
  /** Writes it down. Within a transaction. */
  write(): void
}

/** The record of a path with the inputs that a render has read: added, or alone if the record is outdated. */
export function nextVariance(databases: Databases, label: string, path: string, reads: Variance, seq: number): NextVariance {
  const known = readRecord(databases, label, path)
  const isNew = known === undefined || known.isOutdated
  const query = reads.query || (!isNew && known.query)
  const host = reads.host || (!isNew && known.host)
  const isNarrower = known !== undefined && ((known.query && !query) || (known.host && !host))
  const write = () => {
    const key = varianceKey(label, path)
    // No record and one that names nothing are the same.
    if (query || host) databases.variances.putSync(key, encodeRecord({ query, host }, isNew ? seq : known.seq))
    else databases.variances.removeSync(key)
  }
  return { query, host, isNarrower, write }
}

/** Notes with which purge code of these labels changed. Within a transaction. */
export function noteChangedCode({ variances }: Databases, labels: readonly string[], number: number): void {
  for (const label of labels) variances.putSync(codeKey(label), numberBytes(number))
}
