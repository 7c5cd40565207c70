import type { KeyPath } from './key-path.ts'

/** A problem that does not know its place yet. */
export interface Finding {
  readonly path: KeyPath
  readonly message: string
  readonly hint?: string | undefined
}

/** Returns one finding when `isWrong`, else none: for lists of checks. */
export function findingIf(isWrong: boolean, path: KeyPath, message: string, hint?: string): Finding[] {
  return isWrong ? [{ path, message, hint }] : []
}
