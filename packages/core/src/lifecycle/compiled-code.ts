import { flushCompileCache } from 'node:module'

/** Set by the start of each built program: scripts/programs/program-start.mjs. */
const KEEP = Symbol.for('svc.keepCompiledCode')

/**
 * Keeps the compiled code of this program for its next start. An exit does that too; so only programs and threads that are killed in
 * the end call this, once they have done their work for the first time.
 */
export function keepCompiledCode(): void {
  flushCompileCache()
  // Programs that run from their sources have no such function.
  const keep: unknown = Reflect.get(globalThis, KEEP)
  if (typeof keep === 'function') keep()
}
