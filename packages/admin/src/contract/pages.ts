import { hash } from 'node:crypto'
import * as z from 'zod/mini'
import { AdminError } from '../errors/errors.ts'
import { digits, text } from './schemas.ts'

/** Bytes of the rows of a page. Its other fields come on top: an answer stays below 100 KB. */
const MAX_PAGE_BYTES = 64 * 1024
/** Bytes of one row. */
const MAX_ROW_BYTES = 24 * 1024
const MAX_ROWS = 1_000
/** Rows by which the last one of a page may have moved until the next page is asked for. */
const MAX_MOVE = 1_000
/** Lengths of texts that are tried one after the other until a row fits; lists keep a part of as many items. */
const CUTS = [4_096, 1_024, 256, 64, 16, 4]
const CHARS_PER_ITEM = 16

interface PageQuery {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

interface Page<Row, Cursor> {
  readonly rows: readonly Row[]
  /** Null: there are no more. */
  readonly cursor: Cursor | null
}

/** Parameters of a list that is answered by pages. */
export const pageFields = () => ({
  limit: z.optional(digits('Rows on a page; as many as fit into 64 KiB if it is left out.', 1, MAX_ROWS)),
  cursor: z.optional(text('The cursor of the page before.', 200)),
})

/** The field that says how a list goes on. */
export const cursorField = () => z.nullable(z.string().check(z.describe('Gets the next page; null: this is the last one.')))

/** The schema of a row. */
export function rowOf<Shape extends z.core.$ZodShape>(schema: z.ZodMiniObject<Shape>) {
  return z.extend(schema, {
    is_cut: z.optional(z.literal(true).check(z.describe('Texts and lists of this row are cut: it is too long.'))),
  })
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

function shortened(value: unknown, chars: number): unknown {
  if (typeof value === 'string') return value.length > chars ? `${value.slice(0, chars)}...` : value
  if (Array.isArray(value)) return value.slice(0, Math.ceil(chars / CHARS_PER_ITEM)).map((item) => shortened(item, chars))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner, chars)]))
}

/** A row, with its texts and lists cut if it is too long, which it says then. */
export function fitted<Row extends object>(whole: Row, maxBytes = MAX_ROW_BYTES): Row & { readonly is_cut?: true } {
  if (bytesOf(whole) <= maxBytes) return whole
  const cuts = CUTS.map((chars) => ({ ...(shortened(whole, chars) as Row), is_cut: true as const }))
  return cuts.find((cut) => bytesOf(cut) <= maxBytes) ?? (cuts.at(-1) as Row)
}

/** The first rows that have room together: at least one. */
export function fitting<Row>(rows: Iterable<Row>, maxBytes = MAX_PAGE_BYTES): readonly Row[] {
  const found: Row[] = []
  let bytes = 0
  for (const one of rows) {
    bytes += bytesOf(one) + 1
    if (bytes > maxBytes && found.length > 0) break
    found.push(one)
  }
  return found
}

function* fittedRows<Row extends object>(rows: readonly Row[]): Generator<Row, void, undefined> {
  for (const one of rows) yield fitted(one)
}

const digestOf = (id: string) => hash('sha256', id, 'base64url').slice(0, 12)

/** The index at which the page after a cursor begins. @throws BAD_CURSOR */
function startOf<Row>(rows: readonly Row[], cursor: string, idOf: (row: Row) => string): number {
  const [, index = '', digest] = /^(\d{1,9})\.([\w-]{12})$/.exec(cursor) ?? []
  if (digest === undefined) throw new AdminError('BAD_CURSOR', {})
  const at = Number(index)
  const isThere = (place: number) => {
    const one = rows[place]
    return one !== undefined && digestOf(idOf(one)) === digest
  }
  for (let move = 0; move <= MAX_MOVE; move++) {
    if (isThere(at - move)) return at - move + 1
    if (isThere(at + move)) return at + move + 1
  }
  // It is gone, and the row behind it took its place.
  return at
}

/**
 * A page of a list that is in memory. The next page begins behind the last row of this one, though rows before it have come or gone.
 * @param idOf names a row @throws BAD_CURSOR
 */
export function pageOf<Row extends object>(
  all: readonly Row[],
  { limit = MAX_ROWS, cursor }: PageQuery,
  idOf: (row: Row) => string,
): Page<Row, string> {
  const start = cursor === undefined ? 0 : startOf(all, cursor, idOf)
  const rows = fitting(fittedRows(all.slice(start, start + limit)))
  const last = start + rows.length - 1
  const lastRow = all[last]
  if (lastRow === undefined || last + 1 >= all.length) return { rows, cursor: null }
  return { rows, cursor: `${last}.${digestOf(idOf(lastRow))}` }
}

/** A page of a list whose source makes the cursors: asks for fewer rows as long as they are too long. */
export async function fittingPage<Row, Cursor>(
  limit: number,
  ask: (limit: number) => Promise<Page<Row, Cursor>>,
): Promise<Page<Row, Cursor>> {
  for (let wanted = limit; ; ) {
    const page = await ask(wanted)
    const count = fitting(page.rows).length
    if (count === page.rows.length) return page
    wanted = count
  }
}
