import type { ConfigProblem } from '@svc/config'

/** Writes data: what the command was asked for. */
export function printData(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Writes a value as JSON. */
export function printJson(value: unknown): void {
  printData(JSON.stringify(value, null, 2))
}

/** Writes a message: what a user should know but did not ask for. */
export function printMessage(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Writes problems of a configuration, one per line, and how many they are. */
export async function printProblems(problems: readonly ConfigProblem[]): Promise<void> {
  const { formatProblem } = await import('@svc/config')
  for (const problem of problems) printMessage(formatProblem(problem))
  printMessage(`svc: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'} in the configuration`)
}

/** Writes rows as columns of equal width, below a heading. Empty cells are shown as "-". */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows].map((row) => row.map((cell) => (cell === '' ? '-' : cell)))
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
