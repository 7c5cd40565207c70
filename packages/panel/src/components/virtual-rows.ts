interface View {
  /** Scrolled so far, and height of the view, in pixels. */
  readonly top: number
  readonly height: number
  readonly rowHeight: number
  readonly count: number
}

/** Rows drawn beyond each end of the view, so that scrolling shows no holes. */
const MARGIN = 10

/** The rows to draw: from `first`, without `end`. */
export function rowsInView({ top, height, rowHeight, count }: View): { readonly first: number; readonly end: number } {
  const inView = Math.ceil(height / rowHeight)
  // Fewer rows than were scrolled past: the last ones show.
  const at = Math.min(Math.floor(top / rowHeight), Math.max(0, count - inView))
  return { first: Math.max(0, at - MARGIN), end: Math.min(count, at + inView + MARGIN) }
}
