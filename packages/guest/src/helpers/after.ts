import { currentScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'

/** Runs a function, or waits for a promise, after the answer went out. Its failure goes to the site's log. */
export function after(task: (() => unknown) | Promise<unknown>): void {
  const { guest } = currentScope('after()')
  if (typeof task === 'function') guest.after(task)
  else if (typeof task === 'object' && task !== null && typeof task.then === 'function') guest.after(() => task)
  else throw new RouterError('ROUTER_BAD_ARGUMENT', 'after() needs a function or a promise.')
}

/** Waits for the request: in this server pages are rendered for requests only. */
export async function connection(): Promise<void> {
  currentScope('connection()').read('no-store', 'connection()')
}
