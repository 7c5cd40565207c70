/** `Promise.prototype.then` as the engine made it. */
export const nativeThen = Promise.prototype.then

/** The request that a context belongs to, as far as contexts care. */
interface ContextOwner {
  /** Number that the host gave the request. */
  readonly number: number
}

/**
 * Context of the running code: its request and the values of `AsyncLocalStorage`. Immutable: a change makes a
 * new one, so that running work keeps the context it began with.
 */
export interface Context {
  readonly request: ContextOwner | undefined
  readonly stores: ReadonlyMap<object, unknown> | undefined
}

// One variable for the whole isolate: everything that runs later (promise reactions, timers, settled host calls) puts the
// context it was made in here, runs, and puts the former one back. Between two entries of the host it is undefined.
let current: Context | undefined

/** Returns the context of the running code; undefined for code that belongs to no request, or has lost its context. */
export function currentContext(): Context | undefined {
  return current
}

/** Replaces the current context and returns the one before. Callers put it back in a `finally`. */
export function swapContext(next: Context | undefined): Context | undefined {
  const previous = current
  current = next
  return previous
}

/** Runs `task` in a context. */
export function runInContext<T>(context: Context | undefined, task: () => T): T {
  const previous = swapContext(context)
  try {
    return task()
  } finally {
    current = previous
  }
}

/** Wraps a function of one argument so that it runs in the context of now, whenever it is called. */
export function keepContext<A extends readonly unknown[], R>(task: (...args: A) => R): (...args: A) => R {
  const context = current
  return (...args) => {
    const previous = swapContext(context)
    try {
      return task(...args)
    } finally {
      current = previous
    }
  }
}
