import { queueMicrotask } from '../time/timers.ts'

/** The global `process` of a site: its environment and `nextTick`. */
interface GuestProcess {
  readonly env: Record<string, string>
  nextTick(task: unknown, ...args: readonly unknown[]): void
}

/** The global `process`. Its `env` is filled when the isolate is configured. */
export const process: GuestProcess = {
  env: {},
  nextTick(task, ...args) {
    if (typeof task !== 'function') throw new TypeError('process.nextTick needs a function')
    queueMicrotask(() => task(...args))
  },
}

/** Replaces what `process.env` holds. */
export function setEnvironment(env: Readonly<Record<string, string>>): void {
  for (const key of Object.keys(process.env)) delete process.env[key]
  Object.assign(process.env, env)
}
