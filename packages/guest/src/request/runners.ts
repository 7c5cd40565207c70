import type { BeginKind } from '../contract/isolate.ts'
import type { Runner } from './guest-request.ts'

const runners = new Map<BeginKind, Runner>()

/** Sets what runs requests of a kind. */
export function registerRunner(kind: BeginKind, run: Runner): void {
  runners.set(kind, run)
}

/** Returns the runner of a kind. */
export function runnerOf(kind: BeginKind): Runner | undefined {
  return runners.get(kind)
}
