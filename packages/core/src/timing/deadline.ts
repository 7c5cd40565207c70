import { CoreError } from '../errors/errors.ts'

/**
 * Waits for a promise no longer than `timeoutMs`. The work itself is not stopped. Where this process itself was held up past
 * the time, what has come meanwhile is taken in first: the other side is not blamed for it.
 * @throws CORE_TIMEOUT naming `what` on a timeout
 */
export function withDeadline<T>(promise: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const tooLate = () => reject(new CoreError('CORE_TIMEOUT', `${what} took longer than ${timeoutMs} ms`))
    // Timers come before messages in a turn of the event loop, immediates after them.
    const timer = setTimeout(() => setImmediate(tooLate), timeoutMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
