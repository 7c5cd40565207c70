import { type Context, currentContext, nativeThen, swapContext } from '../context/context.ts'

type Settle = (value: unknown) => void

// Taken before code of a site can replace them.
const NativePromise = Promise
const fulfilled = Promise.resolve()

/**
 * Waits for a value as `await` does and calls one of the functions, once. A foreign thenable is asked in the context of the
 * waiting code (query builders run there).
 */
export function whenSettled(value: unknown, onValue: Settle, onError: Settle): void {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) {
    nativeThen.call(fulfilled, () => onValue(value))
    return
  }
  if (claimsNative(value)) {
    try {
      // The engine checks its receiver first: after a throw nothing is registered.
      nativeThen.call(value, onValue, onError)
      return
    } catch {
      // It only inherits from Promise, as React's own promise-likes do, and is asked as any other thenable.
    }
  }
  waitForThenable(value, onValue, onError)
}

/** True if a value claims to be a promise of the engine's own class. Traps and getters of it may throw. */
function claimsNative(value: object): value is Promise<unknown> {
  try {
    return value instanceof NativePromise && value.constructor === NativePromise
  } catch {
    // The engine's own `await` reads none of this of an object that is no promise.
    return false
  }
}

function waitForThenable(value: object, onValue: Settle, onError: Settle): void {
  const context = currentContext()
  let then: unknown
  try {
    then = (value as { then?: unknown }).then
  } catch (error) {
    nativeThen.call(fulfilled, () => onError(error))
    return
  }
  if (typeof then !== 'function') {
    nativeThen.call(fulfilled, () => onValue(value))
    return
  }
  const adopting = {
    // The engine calls it in a microtask, and sees to it that only the first call of these functions counts.
    then(resolve: Settle, reject: Settle) {
      const previous = swapContext(context)
      try {
        return Reflect.apply(then, value, [resolve, reject])
      } finally {
        swapContext(previous)
      }
    },
  }
  nativeThen.call(new NativePromise((resolve) => resolve(adopting)), onValue, onError)
}

/**
 * One run of an async function that the compiler turned into a generator. The first step runs at once; every later one is a
 * reaction that restores the context which the function had when it began to wait.
 */
class AsyncRun {
  readonly #generator: Generator<unknown, unknown, unknown>
  readonly #resolve: Settle
  readonly #reject: Settle
  #context: Context | undefined
  readonly #onValue = (value: unknown): void => this.#resume(value, false)
  readonly #onError = (error: unknown): void => this.#resume(error, true)

  constructor(generator: Generator<unknown, unknown, unknown>, resolve: Settle, reject: Settle) {
    this.#generator = generator
    this.#resolve = resolve
    this.#reject = reject
  }

  step(value: unknown, isError: boolean): void {
    try {
      const result = isError ? this.#generator.throw(value) : this.#generator.next(value)
      if (result.done) {
        this.#resolve(result.value)
        return
      }
      this.#context = currentContext()
      whenSettled(result.value, this.#onValue, this.#onError)
    } catch (error) {
      this.#reject(error)
    }
  }

  #resume(value: unknown, isError: boolean): void {
    const previous = swapContext(this.#context)
    this.step(value, isError)
    swapContext(previous)
  }
}

type GeneratorFunction = (...args: unknown[]) => Generator<unknown, unknown, unknown>

/** Called with this argument, an async function returns the generator function that it was made of. */
const bodyWanted = Object.freeze({})

/** Turns a generator function back into an async function. */
export function asyncToGenerator(body: GeneratorFunction): (...args: unknown[]) => Promise<unknown> {
  return function (this: unknown, ...args) {
    if (args[0] === bodyWanted) return body as unknown as Promise<unknown>
    return new Promise((resolve, reject) => {
      // Parameter defaults run here; a throw of theirs rejects, as in an async function.
      new AsyncRun(body.apply(this, args), resolve, reject).step(undefined, false)
    })
  }
}

const { toString: functionText } = Function.prototype
const asyncFunctionText: string = Reflect.apply(
  functionText,
  asyncToGenerator(function* () {
    yield
  }),
  [],
)

/** The text of a function of a site as it was compiled; for an async function, that of its body. */
export function sourceOf(task: (...args: unknown[]) => unknown): string {
  const text: string = Reflect.apply(functionText, task, [])
  return text === asyncFunctionText ? Reflect.apply(functionText, task(bodyWanted), []) : text
}
