import type { EntryHead } from './entry-codec.ts'
import { ID_BYTES } from './index-keys.ts'

/** What the rows of the schedule are about; the value is the first byte of their keys. */
export const DUE = { deadline: 1, lastAccess: 2, queryLastAccess: 3 } as const
export type DueKind = (typeof DUE)[keyof typeof DUE]

const KEY_BYTES = 5 + ID_BYTES

/** Which row holds the last access of an entry. */
export function accessKind(head: Pick<EntryHead, 'isQueryKeyed'>): DueKind {
  return head.isQueryKeyed ? DUE.queryLastAccess : DUE.lastAccess
}

/** The key of a row of the schedule: rows of a kind lie in the order of their time. */
export function dueKey(kind: DueKind, seconds: number, id: Buffer): Buffer {
  const key = Buffer.alloc(KEY_BYTES)
  key.writeUInt8(kind, 0)
  key.writeUInt32BE(seconds, 1)
  key.set(id, 5)
  return key
}

/** The id in the key of a row of the schedule. */
export function dueId(key: Buffer): Buffer {
  return Buffer.from(key.subarray(5))
}

/** All rows of a kind that are due before `seconds`; without it: all. */
export function dueRange(kind: DueKind, seconds = 0xffff_ffff): { start: Buffer; end: Buffer } {
  const end = Buffer.alloc(5)
  end.writeUInt8(kind, 0)
  end.writeUInt32BE(seconds, 1)
  return { start: Buffer.of(kind), end }
}

/** The rows of an entry. */
export function dueKeysOf(id: Buffer, head: EntryHead): Buffer[] {
  const access = dueKey(accessKind(head), head.accessedAtSeconds, id)
  return head.deadlineSeconds === 0 ? [access] : [access, dueKey(DUE.deadline, head.deadlineSeconds, id)]
}
