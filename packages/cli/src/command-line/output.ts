import type { ConfigProblem } from '@svc/config'
import { printable, printableLine } from '@svc/core'
import { ExitCode } from '@svc/protocol'

/** Writes the text that a command was asked for; nothing in it steers a terminal. */
export function printData(text: string): void {
  process.stdout.write(`${printable(text)}\n`)
}

/** Writes a value as JSON. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/** Writes the result of a command as JSON, or as a text. Returns the exit code. */
export function printResult(json: boolean, value: unknown, text: string): number {
  if (json) printJson(value)
  else printData(text)
  return ExitCode.ok
}

/** Writes a message that the command was not asked for; nothing in it steers a terminal. */
export function printMessage(text: string): void {
  process.stderr.write(`${printable(text)}\n`)
}

/** Writes problems of a configuration, one per line, and how many they are. */
export async function printProblems(problems: readonly ConfigProblem[]): Promise<void> {
  const { formatProblem } = await import('@svc/config')
  for (const problem of problems) printMessage(printableLine(formatProblem(problem)))
  printMessage(`svc: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'} in the configuration`)
}

/** Writes rows as columns of equal width, below a heading. Empty cells are shown as "-". */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows].map((row) => row.map((cell) => (cell === '' ? '-' : printableLine(cell))))
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
