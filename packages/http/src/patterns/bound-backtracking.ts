import { setFlagsFromString } from 'node:v8'

/**
 * From now on V8 bounds its steps back in patterns of this process: past this many it goes on without backtracking, in time linear
 * in the length of the text, where the pattern allows (docs/decisions/0012-patterns-of-operators.md).
 */
export function boundBacktracking(): void {
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks')
  setFlagsFromString('--regexp-backtracks-before-fallback=1000')
}
