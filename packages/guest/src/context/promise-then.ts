import { type Context, currentContext, swapContext } from './context.ts'

/** `Promise.prototype.then` as the engine made it. */
export const nativeThen = Promise.prototype.then

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

/** Makes promises of the isolate carry the context. Must run before any code that keeps a reference to `then`. */
export function installContextualPromises(): void {
  Object.defineProperty(contextualThen, 'name', { value: 'then', configurable: true })
  Object.defineProperty(Promise.prototype, 'then', {
    value: contextualThen,
    writable: true,
    enumerable: false,
    configurable: true,
  })
}
