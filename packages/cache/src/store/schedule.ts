import type { EntryHead } from './entry-codec.ts'
import { ID_BYTES } from './index-keys.ts'

/** Kinds of rows of the schedule; the value is the first byte of their keys. */
const DEADLINE = 1
const ACCESS = { regular: 2, query: 3, newcomer: 4 } as const

/** Which entries of a label are evicted before which: those of one class in the order of their last access. */
export type AccessClass = keyof typeof ACCESS

/** Bytes of a row before its time. */
const DEADLINE_AT = 1
const ACCESS_AT = 5
const TIME_BYTES = 8
const LOW = 2 ** 32

/**
 * The time of an access as the order of eviction has it: microseconds of the wall clock. Stamps of writes only grow, so that
 * of entries written in one millisecond the first is the oldest.
 */
export function accessStamp(nowMs: number, last = 0): number {
  return Math.max(nowMs * 1000, last + 1)
}

function classOf({ isQueryKeyed, isNewcomer }: Pick<EntryHead, 'isQueryKeyed' | 'isNewcomer'>): AccessClass {
  if (isQueryKeyed) return 'query'
  return isNewcomer ? 'newcomer' : 'regular'
}

/** The row with the last access of an entry: rows of one label and class lie in the order of their time. */
export function accessKey(id: Buffer, head: EntryHead): Buffer {
  const key = Buffer.alloc(ACCESS_AT + TIME_BYTES + ID_BYTES)
  key.writeUInt8(ACCESS[classOf(head)], 0)
  key.writeUInt32BE(head.labelNumber, 1)
  writeTime(key, head.accessStamp, ACCESS_AT)
  key.set(id, ACCESS_AT + TIME_BYTES)
  return key
}

/** The row with the deadline of an entry; undefined when it has none. */
export function deadlineKey(id: Buffer, head: EntryHead): Buffer | undefined {
  if (head.deadlineAt === 0) return undefined
  const key = Buffer.alloc(DEADLINE_AT + TIME_BYTES + ID_BYTES)
  key.writeUInt8(DEADLINE, 0)
  writeTime(key, head.deadlineAt, DEADLINE_AT)
  key.set(id, DEADLINE_AT + TIME_BYTES)
  return key
}

/** Time and id in the key of a row of any kind. */
export function readDueKey(key: Buffer): { time: number; id: Buffer } {
  const idAt = key.byteLength - ID_BYTES
  const timeAt = idAt - TIME_BYTES
  return { time: key.readUInt32BE(timeAt) * LOW + key.readUInt32BE(timeAt + 4), id: Buffer.from(key.subarray(idAt)) }
}

/** The accesses to entries of a label and class, oldest first. */
export function accessRange(labelNumber: number, ofClass: AccessClass): { start: Buffer; end: Buffer } {
  const start = Buffer.alloc(ACCESS_AT)
  start.writeUInt8(ACCESS[ofClass], 0)
  start.writeUInt32BE(labelNumber, 1)
  return { start, end: Buffer.concat([start, Buffer.of(0xff)]) }
}

/** The deadlines before a time, oldest first. */
export function deadlineRange(before: number): { start: Buffer; end: Buffer } {
  const end = Buffer.alloc(DEADLINE_AT + TIME_BYTES)
  end.writeUInt8(DEADLINE, 0)
  writeTime(end, before, DEADLINE_AT)
  return { start: Buffer.of(DEADLINE), end }
}

function writeTime(key: Buffer, time: number, at: number): void {
  key.writeUInt32BE(Math.floor(time / LOW), at)
  key.writeUInt32BE(time % LOW, at + 4)
}
