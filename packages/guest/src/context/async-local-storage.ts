import { type Context, currentContext, keepContext, runInContext, swapContext } from './context.ts'

function withStore(key: object, value: unknown): Context {
  const context = currentContext()
  const stores = new Map(context?.stores)
  stores.set(key, value)
  return { request: context?.request, stores }
}

function withoutStore(key: object): Context {
  const context = currentContext()
  const stores = new Map(context?.stores)
  stores.delete(key)
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
    return runInContext(withStore(this, store), () => task(...args))
  }

  exit<A extends readonly unknown[], R>(task: (...args: A) => R, ...args: A): R {
    return runInContext(withoutStore(this), () => task(...args))
  }

  /** Sets the value for the rest of the running function and what it starts. */
  enterWith(store: T): void {
    swapContext(withStore(this, store))
  }

  disable(): void {
    swapContext(withoutStore(this))
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
