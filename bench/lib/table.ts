/** One line of the result: a scenario, a server, and its figures. */
export interface Row {
  readonly scenario: string
  readonly server: string
  readonly figures: Readonly<Record<string, string>>
}

/** Prints rows as a Markdown table for each scenario. */
export function formatTable(rows: readonly Row[]): string {
  const scenarios = [...new Set(rows.map((row) => row.scenario))]
  return scenarios
    .map((scenario) =>
      formatScenario(
        scenario,
        rows.filter((row) => row.scenario === scenario),
      ),
    )
    .join('\n')
}

function formatScenario(scenario: string, rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row.figures)))]
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    `### ${scenario}`,
    '',
    line(['server', ...columns]),
    line(['---', ...columns.map(() => '---:')]),
    ...rows.map((row) => line([row.server, ...columns.map((column) => row.figures[column] ?? '')])),
    '',
  ].join('\n')
}

/** Formats a number with a sensible number of digits. */
export function figure(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US')
  return value >= 10 ? value.toFixed(0) : value.toFixed(2)
}
