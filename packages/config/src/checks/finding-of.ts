import type { Finding } from '../problem.ts'
import type { KeyPath } from '../source/key-path.ts'

/** Returns one finding when `isWrong`, else none: for lists of checks. */
export function findingIf(isWrong: boolean, path: KeyPath, message: string, hint?: string): Finding[] {
  if (!isWrong) return []
  return [hint === undefined ? { path, message } : { path, message, hint }]
}
