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
