import { format, inspect } from '../console/inspect.ts'
import { TextDecoder } from '../encoding/text-decoder.ts'
import { TextEncoder } from '../encoding/text-encoder.ts'
import { isDeepStrictEqual } from './deep-equal.ts'

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

/** What `util` exports here. */
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
