import type { SiteProblem } from './manifest.ts'

/** Writes a problem as one line for logs, error pages and `svc routes`: "file:line: message (other, other)". */
export function problemText(problem: SiteProblem): string {
  const related = problem.related ?? []
  const place = problem.line === undefined ? problem.file : `${problem.file}:${problem.line}`
  return `${place}: ${problem.message}${related.length === 0 ? '' : ` (${related.join(', ')})`}`
}
