import { setFlagsFromString } from 'node:v8'
import { boundBacktracking } from '@svc/http'

/**
 * Sets the flags of V8 for a worker. On its command line they would make Node recompile its own modules, a third of the time
 * that a worker takes to start; so this is called once they are loaded.
 */
export function setWorkerFlags(): void {
  // Patterns of operators match paths of attackers.
  boundBacktracking()
  // A request passes many short functions: with its usual budget V8 stops inlining half way, which costs a proxied request some percent.
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=4000')
  setFlagsFromString('--max-inlined-bytecode-size-small=60')
}
