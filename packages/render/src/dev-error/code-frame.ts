/** One line of an excerpt. */
export interface CodeLine {
  /** From 1. */
  readonly number: number
  readonly text: string
  readonly isMarked: boolean
}

const context = 5
const maxLineLength = 400

/** The lines of a source around one of them, five on each side; [] when the source has no such line. Long lines are cut. */
export function codeFrame(source: string, line: number): readonly CodeLine[] {
  const lines = source.split(/\r\n|\n|\r/)
  if (line < 1 || line > lines.length) return []
  const first = Math.max(1, line - context)
  const last = Math.min(lines.length, line + context)
  return lines
    .slice(first - 1, last)
    .map((text, index) => ({ number: first + index, text: text.slice(0, maxLineLength), isMarked: first + index === line }))
}
