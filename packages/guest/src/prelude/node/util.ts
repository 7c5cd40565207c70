import { format, inspect } from '../console/inspect.ts'
import { TextDecoder, TextEncoder } from '../encoding/text-coding.ts'

type Pairs = readonly (readonly [object, object])[]

function equalEntries(one: object, other: object, seen: Pairs): boolean {
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  return keys.every((key) => Object.hasOwn(other, key) && equal(Reflect.get(one, key), Reflect.get(other, key), seen))
}

function equalCollections(one: object, other: object, seen: Pairs): boolean {
  if (one instanceof Map && other instanceof Map) {
    return one.size === other.size && [...one].every(([key, value]) => other.has(key) && equal(value, other.get(key), seen))
  }
  if (one instanceof Set && other instanceof Set) {
    const rest = [...other]
    return (
      one.size === other.size &&
      [...one].every((item) => other.has(item) || rest.some((candidate) => equal(item, candidate, seen)))
    )
  }
  return true
}

function equal(one: unknown, other: unknown, seen: Pairs): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false
  if (seen.some(([a, b]) => a === one && b === other)) return true
  if (one instanceof Date && other instanceof Date) return one.getTime() === other.getTime()
  if (one instanceof RegExp) return String(one) === String(other)
  if (one instanceof Error && other instanceof Error && (one.message !== other.message || one.name !== other.name)) return false
  const within: Pairs = [...seen, [one, other]]
  return equalCollections(one, other, within) && equalEntries(one, other, within)
}

/** Node's `util.isDeepStrictEqual` for plain data, collections, dates, errors and typed arrays. */
function isDeepStrictEqual(one: unknown, other: unknown): boolean {
  return equal(one, other, [])
}

type Callback = (error: unknown, value: unknown) => void
type AnyFunction = (...args: unknown[]) => unknown

const custom = Symbol.for('nodejs.util.promisify.custom')

/** Makes a function that takes a callback return a promise. */
function promisify(task: AnyFunction & { [custom]?: unknown }): AnyFunction {
  if (typeof task !== 'function') throw new TypeError('promisify needs a function')
  const own = task[custom]
  if (typeof own === 'function') return own as AnyFunction
  return function (this: unknown, ...args) {
    return new Promise((resolve, reject) => {
      const done: Callback = (error, value) => (error ? reject(error) : resolve(value))
      task.apply(this, [...args, done])
    })
  }
}

/** Makes a function that returns a promise take a callback. */
function callbackify(task: (...args: unknown[]) => Promise<unknown>): AnyFunction {
  return function (this: unknown, ...args) {
    const done = args.pop() as Callback
    task.apply(this, args).then(
      (value) => done(null, value),
      (error: unknown) => done(error, undefined),
    )
  }
}

function inherits(type: { prototype: object; super_?: unknown }, base: { prototype: object }): void {
  type.super_ = base
  Object.setPrototypeOf(type.prototype, base.prototype)
}

const types = Object.freeze({
  isDate: (value: unknown) => value instanceof Date,
  isRegExp: (value: unknown) => value instanceof RegExp,
  isPromise: (value: unknown) => value instanceof Promise,
  isMap: (value: unknown) => value instanceof Map,
  isSet: (value: unknown) => value instanceof Set,
  isNativeError: (value: unknown) => value instanceof Error,
  isTypedArray: (value: unknown) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isUint8Array: (value: unknown) => value instanceof Uint8Array,
  isArrayBuffer: (value: unknown) => value instanceof ArrayBuffer,
  isAnyArrayBuffer: (value: unknown) => value instanceof ArrayBuffer,
})

/** Exports of the module `util`. */
export const util = Object.freeze({
  format,
  inspect: Object.assign((value: unknown, options?: { depth?: number }) => inspect(value, options), {
    custom: Symbol.for('nodejs.util.inspect.custom'),
  }),
  promisify: Object.assign(promisify, { custom }),
  callbackify,
  deprecate: (task: AnyFunction) => task,
  inherits,
  isDeepStrictEqual,
  stripVTControlCharacters: (text: string) =>
    text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g'), ''),
  types,
  TextDecoder,
  TextEncoder,
})
