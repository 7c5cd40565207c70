import type { EntryFacts } from '../entries/entry.ts'
import { withoutTrailingSlash } from '../tags/tags.ts'
import type { Databases } from './databases.ts'
import { decodeFacts, decodeHead } from './entry-codec.ts'
import { ID_BYTES, idOf, pathText, ROW, rowKey, rowRange } from './index-keys.ts'

/** Selects the entries of a store to list. Of several terms the narrowest leads: tag, then path, then path prefix, then label. */
export interface ListingQuery {
  readonly label?: string
  /** A full tag. */
  readonly tag?: string
  /** Normalised path. */
  readonly path?: string
  /** Prefix of the path. */
  readonly prefix?: string
  /** Entries to look at; fewer may be listed. */
  readonly limit: number
  /** Cursor at which the last listing ended. */
  readonly cursor?: string
}

/** An entry without its body. */
export interface ListedEntry {
  readonly key: string
  readonly facts: EntryFacts
  /** Bytes of facts and body, also of a body in a file. */
  readonly bytes: number
  /** Reads since it was stored, as far as all processes have merged them. */
  readonly hits: number
}

export interface Listing {
  readonly entries: readonly ListedEntry[]
  /** Cursor of the next listing; null at the end. */
  readonly cursor: string | null
}

/** Index row in which an entry was found; it ends with the id of the entry. */
type Place = Buffer

/** Lists entries, with work bounded by the limit. Entries written or dropped meanwhile may or may not be listed. */
export function listEntries(databases: Databases, query: ListingQuery): Listing {
  const after = query.cursor === undefined ? undefined : Buffer.from(query.cursor, 'base64url')
  const entries: ListedEntry[] = []
  let looked = 0
  let last: Place | undefined
  for (const place of placesOf(databases, query, after)) {
    if (after !== undefined && looked === 0 && place.equals(after)) continue
    if (looked++ === query.limit) return { entries, cursor: (last ?? place).toString('base64url') }
    last = place
    const entry = listedEntry(databases, place.subarray(-ID_BYTES))
    if (entry !== undefined && isWanted(entry.facts, query)) entries.push(entry)
  }
  return { entries, cursor: null }
}

function* placesOf(databases: Databases, query: ListingQuery, after: Place | undefined): Generator<Place> {
  const { tag, path, label } = query
  const prefix = path === undefined ? query.prefix : pathText(path, label ?? '')
  const { index, heads } = databases
  if (tag !== undefined) yield* rowPlaces(databases, rowKey(ROW.tag, tag), after)
  else if (prefix !== undefined) {
    const range = rowRange(ROW.path, prefix)
    const start = after === undefined ? range.start : after.subarray(0, -ID_BYTES)
    for (const row of index.getKeys({ ...range, start })) {
      const isFirst = after !== undefined && row.equals(start)
      yield* rowPlaces(databases, Buffer.from(row), isFirst ? after : undefined)
    }
  } else if (label !== undefined) yield* rowPlaces(databases, rowKey(ROW.label, label), after)
  else for (const id of heads.getKeys(after === undefined ? {} : { start: after })) yield Buffer.from(id)
}

/** The places of a row: from `after` on, with it. */
function* rowPlaces({ index }: Databases, row: Buffer, after: Place | undefined): Generator<Place> {
  const start = after?.subarray(-ID_BYTES)
  for (const id of index.getValues(row, start === undefined ? {} : { start })) yield Buffer.concat([row, id])
}

function listedEntry({ heads, records }: Databases, id: Buffer): ListedEntry | undefined {
  const bytes = heads.getBinary(id)
  const head = bytes && decodeHead(bytes)
  const record = head === undefined || head.isDead ? undefined : records.getBinaryFast(id)
  if (head === undefined || record?.length !== head.recordBytes) return undefined
  return { ...decodeFacts(head, record), bytes: head.recordBytes + head.fileBytes, hits: head.hits }
}

/** The entry of a key. */
export function lookAt(databases: Databases, key: string): ListedEntry | undefined {
  const entry = listedEntry(databases, idOf(key))
  return entry?.key === key ? entry : undefined
}

function isWanted({ label, path, tags }: EntryFacts, query: ListingQuery): boolean {
  if (query.label !== undefined && label !== query.label) return false
  if (query.path !== undefined && withoutTrailingSlash(path) !== withoutTrailingSlash(query.path)) return false
  if (query.prefix !== undefined && !path.startsWith(query.prefix)) return false
  return query.tag === undefined || tags.includes(query.tag)
}
