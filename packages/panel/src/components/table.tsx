import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import type { More } from '../data/use-pages.ts'
import { MoreRows } from './more-rows.tsx'
import { Skeleton } from './skeleton.tsx'
import { rowsInView } from './virtual-rows.ts'

/** A column of a table. */
export interface Column<Row> {
  readonly name: string
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** The value to sort by; undefined: the column cannot be sorted. */
  readonly sortBy?: (row: Row) => string | number
  /** Figures stand at the right. */
  readonly isFigure?: boolean
  /** Left out on a phone. */
  readonly isMinor?: boolean
  /** Buttons: in view on a phone, too. */
  readonly isAction?: boolean
  /** Takes the room that the others leave. */
  readonly isWide?: boolean
}

interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  /** Undefined: they are on their way. */
  readonly rows: readonly Row[] | undefined
  readonly keyOf: (row: Row) => string
  /** Rows that are not loaded yet: those in view are, and all if the table is sorted. */
  readonly more?: More | undefined
  /** Shown without rows. */
  readonly empty: ComponentChildren
  /** Parameter of the address that keeps the order: name of a column, "-" before it for descending. @default "sort" */
  readonly sortName?: string
}

const arrows = { ascending: ' ↑', descending: ' ↓' } as const

/** Height of a row in pixels, as the style sheet has it. */
const ROW_HEIGHT = 36
/** Longer tables scroll by themselves, and draw the rows in view alone. */
const MAX_DRAWN = 60

/** Rows in the order of the column that the address names. */
function useSorted<Row>({ columns, rows = [], sortName = 'sort' }: Pick<TableProps<Row>, 'columns' | 'rows' | 'sortName'>) {
  const [order, setOrder] = useParameter(sortName)
  const name = order.replace(/^-/, '')
  const direction = order.startsWith('-') ? -1 : 1
  const by = columns.find((column) => column.name === name)?.sortBy
  const sorted = useMemo(() => {
    if (by === undefined) return rows
    return rows.toSorted((one, other) => {
      const [a, b] = [by(one), by(other)]
      return direction * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)))
    })
  }, [rows, by, direction])
  const toggle = (column: string) => setOrder(column === name && direction === 1 ? `-${column}` : column)
  const stateOf = (column: string) => (column !== name ? undefined : direction === 1 ? 'ascending' : 'descending')
  return { sorted, toggle, stateOf, isSorted: by !== undefined } as const
}

/** A table of any number of rows, sorted by its head. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, empty, more } = props
  const { sorted, toggle, stateOf, isSorted } = useSorted(props)
  const [scroll, setScroll] = useState({ top: 0, height: 600 })
  const isVirtual = sorted.length > MAX_DRAWN
  const { first, end } = isVirtual
    ? rowsInView({ ...scroll, rowHeight: ROW_HEIGHT, count: sorted.length })
    : { first: 0, end: sorted.length }
  const isMoreWanted = more?.isLoading === false && (isSorted || end === sorted.length)
  useEffect(() => {
    if (isMoreWanted) more?.load()
  }, [isMoreWanted, sorted.length])
  if (rows === undefined) return <Skeleton rows={5} label={`Loading: ${label}`} />
  if (rows.length === 0 && more === undefined) return <>{empty}</>
  const onScroll = ({ currentTarget: { scrollTop: top, clientHeight: height } }: { readonly currentTarget: HTMLElement }) =>
    setScroll({ top, height })
  const classOf = ({ isFigure, isMinor, isWide, isAction }: Column<Row>) =>
    `${isFigure ? 'figure' : ''} ${isMinor ? 'minor' : ''} ${isWide ? 'wide' : ''} ${isAction ? 'action' : ''}`
  return (
    <>
      <section
        class={`table-box ${isVirtual ? 'table-virtual' : ''}`}
        aria-label={`${label}: table`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        tabIndex={0}
        onScroll={isVirtual ? onScroll : undefined}
      >
        <table aria-rowcount={more === undefined ? sorted.length + 1 : -1}>
          <caption class="hidden">{label}</caption>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <th key={column.name} scope="col" class={classOf(column)} aria-sort={stateOf(column.name)}>
                  {column.sortBy === undefined ? (
                    column.title
                  ) : (
                    <button type="button" class="sort" onClick={() => toggle(column.name)}>
                      {column.title}
                      <SortArrow order={stateOf(column.name)} />
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Gap rows={first} />
            {sorted.slice(first, end).map((row, index) => (
              <tr key={keyOf(row)} aria-rowindex={first + index + 2}>
                {columns.map((column, place) => (
                  <td key={column.name} class={classOf(column)}>
                    {column.cell(row)}
                    {place === 0 && isCut(row) && <Cut />}
                  </td>
                ))}
              </tr>
            ))}
            <Gap rows={sorted.length - end} />
          </tbody>
        </table>
      </section>
      <MoreRows more={more} count={sorted.length} />
    </>
  )
}

/** True if the server has cut the texts of a row. */
function isCut(row: unknown): boolean {
  return typeof row === 'object' && row !== null && 'is_cut' in row && row.is_cut === true
}

function Cut() {
  return <small title="Its texts and lists are too long to be shown whole."> (cut)</small>
}

function SortArrow({ order }: { readonly order: keyof typeof arrows | undefined }) {
  return <span aria-hidden="true">{order === undefined ? '' : arrows[order]}</span>
}

/** The place of rows that are out of view. */
function Gap({ rows }: { readonly rows: number }) {
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus
  return rows === 0 ? null : <tr aria-hidden="true" style={{ height: `${rows * ROW_HEIGHT}px` }} />
}
