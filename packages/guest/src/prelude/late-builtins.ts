/** Globals whose memory the isolate's limit does not count, or that can block the thread for ever. */
const removedGlobals = ['WebAssembly', 'SharedArrayBuffer', 'Atomics']

/** `ArrayBuffer` without growing buffers: their pages are not counted against the limit of the isolate. */
function fixedArrayBuffer(): ArrayBufferConstructor {
  const Native = ArrayBuffer
  const Fixed = new Proxy(Native, {
    construct(target, args: [length?: unknown, options?: { maxByteLength?: unknown }], newTarget) {
      const [length, options] = args
      if (typeof options === 'object' && options !== null && options.maxByteLength !== undefined) {
        throw new RangeError('Resizable ArrayBuffers are not available')
      }
      // Options are not passed on: a getter could answer differently the second time.
      return Reflect.construct(target, [length], newTarget)
    },
  })
  Object.defineProperty(Native.prototype, 'constructor', { value: Fixed, writable: true, enumerable: false, configurable: true })
  for (const name of ['resize', 'resizable', 'maxByteLength']) Reflect.deleteProperty(Native.prototype, name)
  return Fixed
}

/** Takes away what would let a site's code use memory beyond its limit. Also for the compartments of `eval`: it is the same global. */
export function installMemoryGuards(): void {
  for (const name of removedGlobals) Reflect.deleteProperty(globalThis, name)
  Object.defineProperty(globalThis, 'ArrayBuffer', {
    value: fixedArrayBuffer(),
    writable: true,
    enumerable: false,
    configurable: true,
  })
}

/** `Array.fromAsync` of the engine runs its callback after native awaits, without a context. This one is lowered. */
async function fromAsync<T>(
  this: unknown,
  items: AsyncIterable<T> | Iterable<T | PromiseLike<T>> | ArrayLike<T | PromiseLike<T>>,
  map?: (item: T, index: number) => unknown,
): Promise<unknown> {
  const isIterable = Symbol.asyncIterator in Object(items) || Symbol.iterator in Object(items)
  const source = isIterable ? (items as Iterable<T>) : Array.from(items as ArrayLike<T>)
  const Type = typeof this === 'function' ? (this as new () => unknown[]) : Array
  const result = new Type()
  let index = 0
  for await (const item of source) {
    const value = map === undefined ? item : await map(item, index)
    Object.defineProperty(result, index++, { value, writable: true, enumerable: true, configurable: true })
  }
  result.length = index
  return result
}

/** Replaces `Array.fromAsync`. */
export function installFromAsync(): void {
  Object.defineProperty(Array, 'fromAsync', { value: fromAsync, writable: true, enumerable: false, configurable: true })
}
