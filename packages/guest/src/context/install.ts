import { type Context, currentContext, nativeThen, swapContext } from './context.ts'

/** Adds `Symbol.dispose` and `Symbol.asyncDispose`, which the engine does not have yet. */
function installDisposeSymbols(): void {
  for (const name of ['dispose', 'asyncDispose'] as const) {
    if (Symbol[name] !== undefined) continue
    Object.defineProperty(Symbol, name, {
      value: Symbol(`Symbol.${name}`),
      writable: false,
      enumerable: false,
      configurable: false,
    })
  }
}

type Reaction = ((value: unknown) => unknown) | null | undefined

function inContext(reaction: Reaction, context: Context): Reaction {
  if (typeof reaction !== 'function') return reaction
  return (value) => {
    const previous = swapContext(context)
    try {
      return reaction(value)
    } finally {
      swapContext(previous)
    }
  }
}

/** `then` that runs its reactions in the context of the call. `catch`, `finally` and `Promise.all` go through it too. */
function contextualThen(this: Promise<unknown>, onFulfilled: Reaction, onRejected: Reaction): Promise<unknown> {
  const context = currentContext()
  if (context === undefined) return nativeThen.call(this, onFulfilled, onRejected)
  return nativeThen.call(this, inContext(onFulfilled, context), inContext(onRejected, context))
}

/** Makes promises of the isolate carry the context. */
function installContextualPromises(): void {
  Object.defineProperty(contextualThen, 'name', { value: 'then', configurable: true })
  Object.defineProperty(Promise.prototype, 'then', {
    value: contextualThen,
    writable: true,
    enumerable: false,
    configurable: true,
  })
}

// Imported first by main.ts, for its effect: polyfills and React keep references to `then` while they are evaluated.

installDisposeSymbols()
installContextualPromises()
