import { type Context, currentContext, runInContext } from '../../context/context.ts'
import { OwnMap } from '../../context/primordials.ts'
import { host } from '../../host/host.ts'
import { LOG_TIMER, logUncaught, reportDropped } from '../../host/site-log.ts'

interface Timer {
  readonly task: (...args: unknown[]) => unknown
  readonly args: readonly unknown[]
  readonly context: Context | undefined
  /** Milliseconds between runs; undefined: once. */
  readonly intervalMs: number | undefined
}

const timers = new OwnMap<number, Timer>()
let lastId = 0

function delayOf(value: unknown): number {
  const delay = Math.trunc(Number(value))
  // A delay that does not fit a 32-bit integer counts as 0, as in browsers.
  return delay > 0 && delay < 2 ** 31 ? delay : 0
}

function start(task: unknown, intervalMs: number | undefined, delayMs: number, args: readonly unknown[]): number {
  if (typeof task !== 'function') throw new TypeError('A timer needs a function')
  const id = ++lastId
  const context = currentContext()
  timers.set(id, { task: task as Timer['task'], args, context, intervalMs })
  host().setTimer(id, delayMs, context?.request?.number ?? 0)
  return id
}

/** Runs `task` once after a delay in milliseconds. Returns a number, as in browsers. */
export function setTimeout(task: unknown, delay?: unknown, ...args: unknown[]): number {
  return start(task, undefined, delayOf(delay), args)
}

/** Runs `task` again and again, at most once per millisecond. */
export function setInterval(task: unknown, delay?: unknown, ...args: unknown[]): number {
  const intervalMs = Math.max(1, delayOf(delay))
  return start(task, intervalMs, intervalMs, args)
}

/** Cancels a timer of either kind; unknown ids are ignored. */
export function clearTimeout(id: unknown): void {
  if (!timers.delete(Number(id))) return
  host().clearTimer(Number(id))
}

/** Runs timers that are due, at most one of each request. A throw of a task is logged and harms nothing else. */
export function fireTimers(...ids: readonly number[]): void {
  for (const id of ids) {
    if (id === LOG_TIMER) reportDropped()
    else fireTimer(id)
  }
}

function fireTimer(id: number): void {
  const timer = timers.get(id)
  if (timer === undefined) return
  if (timer.intervalMs === undefined) timers.delete(id)
  runInContext(timer.context, () => {
    try {
      timer.task.apply(globalThis, timer.args as unknown[])
    } catch (error) {
      logUncaught(error, 'uncaught error in a timer')
    }
  })
  if (timer.intervalMs !== undefined && timers.get(id) === timer) {
    host().setTimer(id, timer.intervalMs, timer.context?.request?.number ?? 0)
  }
}

/** Cancels the timers of an aborted request. */
export function clearTimersOf(request: object): void {
  timers.forEach((timer, id) => {
    if (timer.context?.request === request) clearTimeout(id)
  })
}

const settled = Promise.resolve()

/** Runs `task` after the running code, in its context. A throw is logged. */
export function queueMicrotask(task: unknown): void {
  if (typeof task !== 'function') throw new TypeError('queueMicrotask needs a function')
  void settled.then(() => {
    try {
      task()
    } catch (error) {
      logUncaught(error, 'uncaught error in a microtask')
    }
  })
}
