interface PagerProps<Cursor> {
  /** Those of the pages up to this one; none: the first page shows. */
  readonly cursors: readonly Cursor[]
  /** Null: this is the last page. */
  readonly next: Cursor | null
  readonly onCursors: (cursors: readonly Cursor[]) => void
  readonly words?: readonly [previous: string, next: string]
}

/** Goes from page to page of a long list. Absent where one page is all. */
export function Pager<Cursor>({ cursors, next, onCursors, words = ['Previous', 'Next'] }: PagerProps<Cursor>) {
  if (cursors.length === 0 && next === null) return null
  return (
    <div class="buttons">
      <button type="button" disabled={cursors.length === 0} onClick={() => onCursors(cursors.slice(0, -1))}>
        {words[0]}
      </button>
      <button type="button" disabled={next === null} onClick={() => next !== null && onCursors([...cursors, next])}>
        {words[1]}
      </button>
    </div>
  )
}
