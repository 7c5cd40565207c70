import { createHash, hash } from 'node:crypto'
import type { Purgeable } from '../purge/purge.ts'
import { withoutTrailingSlash } from '../tags/tags.ts'

/** Rows of the index by what they say of an entry; the value is the first byte of their keys. */
export const ROW = { label: 1, path: 2, host: 3, tag: 4, hostPath: 5 } as const
export type RowKind = (typeof ROW)[keyof typeof ROW]

/** Bytes of an id. */
export const ID_BYTES = 16
/** Longest text of a row that is kept whole. lmdb bounds keys. */
const MAX_TEXT_BYTES = 480
/** Of longer texts this much stays legible, for walks by prefix; then a byte that no UTF-8 has, and a digest. */
const LEGIBLE_BYTES = 448
const CUT_MARK = 0xff
/** Stands between path and label: neither can hold it. */
const SEPARATOR = '\0'

/** Index key of an entry: a digest of its key, which may be of any length. */
export function idOf(key: string): Buffer {
  return Buffer.from(hash('sha256', key, 'binary').slice(0, ID_BYTES), 'latin1')
}

/** The key of an index row. */
export function rowKey(kind: RowKind, text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= MAX_TEXT_BYTES) return Buffer.concat([Buffer.of(kind), bytes])
  const digest = createHash('sha256').update(bytes).digest().subarray(0, ID_BYTES)
  return Buffer.concat([Buffer.of(kind), bytes.subarray(0, LEGIBLE_BYTES), Buffer.of(CUT_MARK), digest])
}

/** The text of a row; undefined when it was too long to be stored whole. */
export function rowText(key: Buffer): string | undefined {
  return key.indexOf(CUT_MARK) === -1 ? key.toString('utf8', 1) : undefined
}

/** The text of a path row: by path first, so that a walk by path meets all labels. */
export function pathText(path: string, label: string): string {
  return `${withoutTrailingSlash(path)}${SEPARATOR}${label}`
}

/** The text of a row of host and path: by host first, so that a walk meets the paths of one host alone. */
export function hostPathText(host: string, path: string): string {
  return `${host}${SEPARATOR}${withoutTrailingSlash(path)}`
}

/** All rows of a kind whose text begins with `prefix`, and perhaps others: truncated rows must be checked. */
export function rowRange(kind: RowKind, prefix: string): { start: Buffer; end: Buffer } {
  const start = Buffer.concat([Buffer.of(kind), Buffer.from(prefix).subarray(0, LEGIBLE_BYTES)])
  return { start, end: Buffer.concat([start, Buffer.of(CUT_MARK, CUT_MARK)]) }
}

/** All rows that lead to an entry. */
export function rowKeysOf({ label, path, host, tags }: Purgeable): Buffer[] {
  const rows = [rowKey(ROW.label, label), ...tags.map((tag) => rowKey(ROW.tag, tag))]
  if (path !== '') rows.push(rowKey(ROW.path, pathText(path, label)))
  if (host !== '') rows.push(rowKey(ROW.host, host), rowKey(ROW.hostPath, hostPathText(host, path)))
  return rows
}
