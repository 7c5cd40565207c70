import type { Databases } from './databases.ts'
import { ROW, rowKey } from './index-keys.ts'

/** First bytes of keys among the counters. Those of the order of labels are as `ORDER` says. */
const NUMBER = ROW.label
const USAGE = 2
const ORDER = { entries: 3, bytes: 4, queryEntries: 5, queryBytes: 6 } as const

/** The bounds of a store: entries and bytes, of all entries and of those keyed by a query. */
export type Dimension = keyof typeof ORDER
const DIMENSIONS = Object.keys(ORDER) as readonly Dimension[]

/** The weight of a label that the configuration does not name. */
export const DEFAULT_WEIGHT = 1
/** Ranks for each doubling of a level: labels within a hundredth of each other may have one rank, so that few puts change it. */
const RANKS = 64
/** So that the level of a single byte has a rank. */
const LEAST_LEVEL = 0.001
/** Above every rank. */
const RANK_TOP = 0xffff
const NUMBER_AT = 3
const PRESENT = Buffer.of(1)

/** How much of a store the entries of one label take, purged ones not counted. */
export interface Usage {
  /** Stands for the label in heads and in rows of the schedule. */
  readonly number: number
  readonly label: string
  weight: number
  entries: number
  /** Bytes of facts, bodies and files. */
  bytes: number
  queryEntries: number
  queryBytes: number
  /** Entries that were requested once so far, under keys that clients can make up. */
  newEntries: number
  newBytes: number
  /** Entries evicted since the store was created. */
  evictions: number
}

const FIELDS = [
  'weight',
  'entries',
  'bytes',
  'queryEntries',
  'queryBytes',
  'newEntries',
  'newBytes',
  'evictions',
] as const satisfies readonly (keyof Usage)[]
const LABEL_AT = FIELDS.length * 8

/** How much a label has for its weight: the label with the highest level is evicted from. */
export function levelOf(usage: Usage, dimension: Dimension): number {
  return usage[dimension] / usage.weight
}

/** Levels as the order of labels has them; 0: there is nothing. */
function rankOf(usage: Usage | undefined, dimension: Dimension): number {
  if (usage === undefined || usage[dimension] <= 0) return 0
  return Math.min(RANK_TOP, 1 + Math.floor(Math.log2(1 + levelOf(usage, dimension) / LEAST_LEVEL) * RANKS))
}

/** The number of a label; undefined: the store has never had an entry of it. */
export function readNumber({ counters }: Databases, label: string): number | undefined {
  return counters.getBinary(numberKey(label))?.readUInt32BE(0)
}

export function newUsage(number: number, label: string): Usage {
  const counts = { entries: 0, bytes: 0, queryEntries: 0, queryBytes: 0, newEntries: 0, newBytes: 0, evictions: 0 }
  return { number, label, weight: DEFAULT_WEIGHT, ...counts }
}

/** Writes the number of a label; only inside a transaction. */
export function writeNumber({ counters }: Databases, { label, number }: Usage): void {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(number)
  counters.putSync(numberKey(label), bytes)
}

export function readUsage({ counters }: Databases, number: number): Usage | undefined {
  const bytes = counters.getBinary(usageKey(number))
  return bytes && decodeUsage(number, bytes)
}

/** All labels that the store has ever had entries of. */
export function readUsages({ counters }: Databases): Usage[] {
  const range = { start: Buffer.of(USAGE), end: Buffer.of(USAGE + 1) }
  return Array.from(counters.getRange(range), ({ key, value }) => decodeUsage(key.readUInt32BE(1), value))
}

/** Writes what changed in the usage of a label; only inside a transaction. `before`: as it is stored; undefined: it is not. */
export function writeUsage({ counters }: Databases, usage: Usage, before: Usage | undefined): void {
  counters.putSync(usageKey(usage.number), encodeUsage(usage))
  for (const dimension of DIMENSIONS) {
    const rank = rankOf(usage, dimension)
    const old = rankOf(before, dimension)
    if (rank === old) continue
    if (old > 0) counters.removeSync(orderKey(dimension, old, usage.number))
    if (rank > 0) counters.putSync(orderKey(dimension, rank, usage.number), PRESENT)
  }
}

/** The number of a label with the highest rank, of those that `isWanted`. */
export function highest(
  { counters }: Databases,
  dimension: Dimension,
  isWanted: (number: number) => boolean,
): number | undefined {
  const range = { start: Buffer.of(ORDER[dimension]), end: Buffer.of(ORDER[dimension] + 1) }
  for (const key of counters.getKeys(range)) {
    const number = key.readUInt32BE(NUMBER_AT)
    if (isWanted(number)) return number
  }
  return undefined
}

function numberKey(label: string): Buffer {
  return rowKey(NUMBER, label)
}

function usageKey(number: number): Buffer {
  const key = Buffer.alloc(5)
  key.writeUInt8(USAGE, 0)
  key.writeUInt32BE(number, 1)
  return key
}

/** Rows lie with the highest rank first. */
function orderKey(dimension: Dimension, rank: number, number: number): Buffer {
  const key = Buffer.alloc(NUMBER_AT + 4)
  key.writeUInt8(ORDER[dimension], 0)
  key.writeUInt16BE(RANK_TOP - rank, 1)
  key.writeUInt32BE(number, NUMBER_AT)
  return key
}

function encodeUsage(usage: Usage): Buffer {
  return Buffer.concat([encodeNumbers(usage, FIELDS), Buffer.from(usage.label)])
}

function decodeUsage(number: number, bytes: Buffer): Usage {
  return { ...newUsage(number, bytes.toString('utf8', LABEL_AT)), ...decodeNumbers(bytes, FIELDS) }
}

/** Writes fields of a record of numbers one after the other. */
export function encodeNumbers<Name extends string>(record: Readonly<Record<Name, number>>, fields: readonly Name[]): Buffer {
  const bytes = Buffer.alloc(fields.length * 8)
  fields.forEach((field, index) => {
    bytes.writeDoubleLE(record[field], index * 8)
  })
  return bytes
}

export function decodeNumbers<Name extends string>(bytes: Buffer, fields: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(fields.map((field, index) => [field, bytes.readDoubleLE(index * 8)])) as Record<Name, number>
}
