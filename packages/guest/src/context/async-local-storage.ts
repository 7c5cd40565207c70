import { type Context, currentContext, keepContext, runInContext, swapContext } from './context.ts'
import { OwnMap } from './primordials.ts'

/** The current context with another value for `key`, or without any. */
function contextWith(key: object, ...value: [unknown?]): Context {
  const context = currentContext()
  const stores = new OwnMap<object, unknown>()
  context?.stores?.forEach((stored, owner) => void stores.set(owner, stored))
  if (value.length > 0) stores.set(key, value[0])
  else stores.delete(key)
  return { request: context?.request, stores }
}

/** Node's `AsyncLocalStorage` over the guest's context. */
export class AsyncLocalStorage<T> {
  readonly #defaultValue: T | undefined
  readonly name: string

  constructor(options: { defaultValue?: T; name?: string } = {}) {
    this.#defaultValue = options.defaultValue
    this.name = String(options.name ?? '')
  }

  getStore(): T | undefined {
    const stores = currentContext()?.stores
    return stores?.has(this) ? (stores.get(this) as T) : this.#defaultValue
  }

  /** Runs `task` with a value that everything it starts sees, too. */
  run<A extends readonly unknown[], R>(store: T, task: (...args: A) => R, ...args: A): R {
    return runInContext(contextWith(this, store), () => task(...args))
  }

  exit<A extends readonly unknown[], R>(task: (...args: A) => R, ...args: A): R {
    return runInContext(contextWith(this), () => task(...args))
  }

  /** Sets the value for the rest of the running function and what it starts. Code that has lost its context has none to set it in. */
  enterWith(store: T): void {
    if (currentContext() !== undefined) swapContext(contextWith(this, store))
  }

  disable(): void {
    if (currentContext() !== undefined) swapContext(contextWith(this))
  }

  static bind<A extends readonly unknown[], R>(task: (...args: A) => R): (...args: A) => R {
    return keepContext(task)
  }

  static snapshot(): <A extends readonly unknown[], R>(task: (...args: A) => R, ...args: A) => R {
    const context = currentContext()
    return (task, ...args) => runInContext(context, () => task(...args))
  }
}

/** Node's `AsyncResource`, as far as it carries a context. */
export class AsyncResource {
  readonly type: string
  readonly #context = currentContext()

  constructor(type: string) {
    this.type = type
  }

  runInAsyncScope<A extends readonly unknown[], R>(task: (...args: A) => R, self?: unknown, ...args: A): R {
    return runInContext(this.#context, () => Reflect.apply(task, self, args) as R)
  }

  bind<A extends readonly unknown[], R>(task: (...args: A) => R): (...args: A) => R {
    return (...args) => runInContext(this.#context, () => task(...args))
  }

  emitDestroy(): this {
    return this
  }

  static bind<A extends readonly unknown[], R>(task: (...args: A) => R): (...args: A) => R {
    return keepContext(task)
  }
}
