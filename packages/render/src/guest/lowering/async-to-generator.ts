import { type Context, currentContext, swapContext } from '../context/context.ts'
import { nativeThen } from '../context/promise-then.ts'

type Settle = (value: unknown) => void

/** Makes a promise to wait for; a foreign thenable is asked in the context of the waiting code (query builders run there). */
export function awaitable(value: unknown): Promise<unknown> {
  if (value instanceof Promise && value.constructor === Promise) return value
  if (typeof value !== 'object' && typeof value !== 'function') return Promise.resolve(value)
  if (value === null || value instanceof Promise) return Promise.resolve(value)
  const context = currentContext()
  if (context === undefined) return Promise.resolve(value)
  return Promise.resolve(withContext(value, context))
}

function withContext(value: object, context: Context): unknown {
  let then: unknown
  try {
    then = (value as { then?: unknown }).then
  } catch (error) {
    return Promise.reject(error)
  }
  if (typeof then !== 'function') return value
  const original = then as (resolve: Settle, reject: Settle) => unknown
  return {
    then(resolve: Settle, reject: Settle) {
      const previous = swapContext(context)
      try {
        return original.call(value, resolve, reject)
      } finally {
        swapContext(previous)
      }
    },
  }
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
      nativeThen.call(awaitable(result.value), this.#onValue, this.#onError)
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

/** What an async function is called with to be asked for the generator function that it was made of. */
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

/** The text of a function of a site as it was compiled; of an async function, that of what it does. */
export function sourceOf(task: (...args: unknown[]) => unknown): string {
  const text: string = Reflect.apply(functionText, task, [])
  return text === asyncFunctionText ? Reflect.apply(functionText, task(bodyWanted), []) : text
}
