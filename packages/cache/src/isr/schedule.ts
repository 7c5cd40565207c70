import type { EntryHead } from './entry-codec.ts'
import { ID_BYTES } from './index-keys.ts'

/** What the rows of the schedule are about; the value is the first byte of their keys. */
export const DUE = { deadline: 1, access: 2, queryAccess: 3 } as const
export type DueKind = (typeof DUE)[keyof typeof DUE]

const ID_AT = 9
const LOW = 2 ** 32

/**
 * The time of an access as the order of eviction has it: microseconds of the wall clock. Stamps of writes only grow, so that
 * of entries written in one millisecond the first is the oldest.
 */
export function accessStamp(nowMs: number, last = 0): number {
  return Math.max(nowMs * 1000, last + 1)
}

/** The key of a row of the schedule: rows of a kind lie in the order of their time, a whole number. */
export function dueKey(kind: DueKind, time: number, id?: Buffer): Buffer {
  const key = Buffer.alloc(id === undefined ? ID_AT : ID_AT + ID_BYTES)
  key.writeUInt8(kind, 0)
  key.writeUInt32BE(Math.floor(time / LOW), 1)
  key.writeUInt32BE(time % LOW, 5)
  if (id !== undefined) key.set(id, ID_AT)
  return key
}

/** Time and id in the key of a row. */
export function readDueKey(key: Buffer): { time: number; id: Buffer } {
  return { time: key.readUInt32BE(1) * LOW + key.readUInt32BE(5), id: Buffer.from(key.subarray(ID_AT)) }
}

/** Rows of a kind, oldest first: those before a time, or all. */
export function dueRange(kind: DueKind, before?: number): { start: Buffer; end: Buffer } {
  return { start: Buffer.of(kind), end: before === undefined ? Buffer.of(kind + 1) : dueKey(kind, before) }
}

/** The row with the last access of an entry. */
export function accessKey(id: Buffer, head: EntryHead): Buffer {
  return dueKey(head.isQueryKeyed ? DUE.queryAccess : DUE.access, head.accessStamp, id)
}

/** The row with the deadline of an entry; undefined when it has none. */
export function deadlineKey(id: Buffer, head: EntryHead): Buffer | undefined {
  return head.deadlineAt === 0 ? undefined : dueKey(DUE.deadline, head.deadlineAt, id)
}
