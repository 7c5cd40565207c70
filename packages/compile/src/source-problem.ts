import { CompileError } from './errors.ts'

/** The position of a problem in a source file. Lines and columns count from 1. */
export interface SourceProblem {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
  /** The lines around the place, with a marker under it. */
  readonly frame: string
  /** Advice to the author. */
  readonly hint?: string
}

/** A line and a column, both counted from 1. */
export interface SourcePosition {
  readonly line: number
  readonly column: number
}

const LINES_AROUND = 2
const LONGEST_LINE = 160
/** Compilers quote the source in their messages, and hints name files of it. */
const LONGEST_TEXT = 4_096

/** The position of a UTF-16 offset. */
export function positionAt(source: string, offset: number): SourcePosition {
  const before = source.slice(0, offset)
  const line = before.split('\n').length
  return { line, column: offset - (before.lastIndexOf('\n') + 1) + 1 }
}

/** The UTF-16 offset of an offset in the UTF-8 form of the text. */
export function offsetOfByte(source: string, byteOffset: number): number {
  return Buffer.from(source).subarray(0, byteOffset).toString().length
}

/** Draws the lines around a position, the way compilers show them. */
function codeFrame(source: string, { line, column }: SourcePosition): string {
  const lines = source.split('\n')
  const first = Math.max(1, line - LINES_AROUND)
  const last = Math.min(lines.length, line + LINES_AROUND)
  const width = String(last).length
  const rows: string[] = []
  for (let number = first; number <= last; number++) {
    const text = (lines[number - 1] ?? '').replaceAll('\t', ' ').slice(0, LONGEST_LINE)
    const mark = number === line ? '>' : ' '
    rows.push(`${mark} ${String(number).padStart(width)} | ${text}`)
    if (number === line && column <= LONGEST_LINE) rows.push(`  ${' '.repeat(width)} | ${' '.repeat(column - 1)}^`)
  }
  return rows.join('\n')
}

/** Facts for `sourceError`. */
export interface SourceErrorFacts {
  readonly code: 'RENDER_COMPILE' | 'RENDER_RESOLVE'
  readonly file: string
  readonly source: string
  readonly at: SourcePosition
  readonly message: string
  readonly hint?: string
  readonly cause?: unknown
}

/** Makes the error for a place in a source file; its message is one line that names the place. */
export function sourceError({ code, file, source, at, cause, ...texts }: SourceErrorFacts): CompileError {
  const message = texts.message.slice(0, LONGEST_TEXT)
  const hint = texts.hint?.slice(0, LONGEST_TEXT)
  const problem: SourceProblem = {
    file,
    line: at.line,
    column: at.column,
    message,
    frame: codeFrame(source, at),
    ...(hint === undefined ? {} : { hint }),
  }
  const text = `${file}:${at.line}:${at.column}: ${message}${hint === undefined ? '' : ` (${hint})`}`
  return new CompileError(code, text, { cause, data: { ...problem } })
}
