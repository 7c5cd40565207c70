import type { SiteProblem } from './manifest.ts'

/** Writes a problem as one line for logs, error pages and `svc routes`: "file: message (other, other)". */
export function problemText(problem: SiteProblem): string {
  const related = problem.related ?? []
  return `${problem.file}: ${problem.message}${related.length === 0 ? '' : ` (${related.join(', ')})`}`
}
