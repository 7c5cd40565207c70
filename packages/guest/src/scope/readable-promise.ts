/** Names that React and `instanceof` read to classify a value. */
const inspected = ['constructor', '$$typeof']

/** Names that the promise itself (or React's `use`) needs: as in Next they can be read only after `await`. */
const reserved: ReadonlySet<string> = new Set(['then', 'catch', 'finally', 'status', 'value', 'reason', ...inspected])

/** A value that can be awaited, passed to React's `use` without suspending, or read at once as a plain object. */
export type ReadablePromise<T extends object> = Promise<T> & T

/**
 * Makes a settled promise of a plain object that also carries the object's own properties, as `params` and
 * `searchParams` need. `use()` finds it settled, so that a page that reads it does not suspend.
 */
export function readablePromise<T extends object>(value: T): ReadablePromise<T> {
  const promise = settledPromise(value)
  for (const key of Object.keys(value)) {
    if (reserved.has(key)) continue
    define(promise, key, { value: value[key as keyof T], enumerable: true, writable: true, configurable: true })
  }
  return promise as ReadablePromise<T>
}

/**
 * Like `readablePromise` for a value that is made when it is first read: by `await`, `then`, React's `use`, a property, `in`,
 * a list of its keys, a spread. Passing it on and looking at its class read nothing. `onRead` is called at each read, and may throw.
 */
export function lazyReadablePromise<T extends object>(onRead: () => void, make: () => T): ReadablePromise<T> {
  let made: ReadablePromise<T> | undefined
  const read = () => {
    onRead()
    made ??= readablePromise(make())
    return made
  }
  const handler: ProxyHandler<object> = {
    get(target, key) {
      if (typeof key === 'symbol' || inspected.includes(key)) return Reflect.get(target, key)
      const promise = read()
      const value: unknown = Reflect.get(promise, key)
      return typeof value === 'function' ? value.bind(promise) : value
    },
    has: (target, key) => (typeof key === 'symbol' ? Reflect.has(target, key) : Reflect.has(read(), key)),
    ownKeys: () => Reflect.ownKeys(read()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(read(), key),
    set: (_, key, value) => Reflect.set(read(), key, value),
    defineProperty: (_, key, descriptor) => Reflect.defineProperty(read(), key, descriptor),
    deleteProperty: (_, key) => Reflect.deleteProperty(read(), key),
  }
  // The target is a promise for what asks for the prototype.
  return new Proxy(Promise.resolve(), handler) as unknown as ReadablePromise<T>
}

/**
 * Like `readablePromise` for an object with methods and a prototype (`headers()`, `cookies()`): every method and getter of
 * `value` is there on the promise too, bound to `value`.
 */
export function readablePromiseOf<T extends object>(value: T): ReadablePromise<T> {
  const promise = settledPromise(value)
  for (const key of methodNames(value)) {
    if (typeof key === 'string' && reserved.has(key)) continue
    define(promise, key, { get: () => bound(value, key), enumerable: false, configurable: true })
  }
  return promise as ReadablePromise<T>
}

function settledPromise<T>(value: T): Promise<T> {
  const promise = Promise.resolve(value)
  define(promise, 'status', { value: 'fulfilled', writable: true, configurable: true })
  define(promise, 'value', { value, writable: true, configurable: true })
  return promise
}

function define(target: object, key: string | symbol, descriptor: PropertyDescriptor): void {
  Object.defineProperty(target, key, descriptor)
}

function bound<T extends object>(value: T, key: string | symbol): unknown {
  const member: unknown = Reflect.get(value, key, value)
  return typeof member === 'function' ? member.bind(value) : member
}

function methodNames(value: object): (string | symbol)[] {
  const names = new Set<string | symbol>(Reflect.ownKeys(value))
  for (
    let proto = Object.getPrototypeOf(value);
    proto !== null && proto !== Object.prototype;
    proto = Object.getPrototypeOf(proto)
  ) {
    for (const key of Reflect.ownKeys(proto)) if (key !== 'constructor') names.add(key)
  }
  return [...names]
}
