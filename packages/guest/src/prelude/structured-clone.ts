import { DOMException } from './events/dom-exception.ts'
import { Blob } from './fetch/blob.ts'

type Seen = Map<object, unknown>

const errorTypes: ReadonlyMap<string, ErrorConstructor> = new Map(
  [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((type) => [
    type.name,
    type as ErrorConstructor,
  ]),
)

function refuse(value: unknown): never {
  let what: string = typeof value
  if (typeof value === 'function') what = value.name || 'a function'
  if (typeof value === 'object') what = Object.prototype.toString.call(value)
  throw new DOMException(`${what} could not be cloned.`, 'DataCloneError')
}

function cloneError(error: Error, seen: Seen): Error {
  const Type = errorTypes.get(error.name) ?? Error
  const clone = new Type(error.message)
  seen.set(error, clone)
  if (error.stack !== undefined)
    Object.defineProperty(clone, 'stack', { value: String(error.stack), configurable: true, writable: true })
  if ('cause' in error)
    Object.defineProperty(clone, 'cause', { value: cloneValue(error.cause, seen), configurable: true, writable: true })
  return clone
}

function cloneView(view: ArrayBufferView, seen: Seen): ArrayBufferView {
  const buffer = cloneValue(view.buffer, seen) as ArrayBuffer
  if (view instanceof DataView) return new DataView(buffer, view.byteOffset, view.byteLength)
  const Type = (view instanceof Uint8Array ? Uint8Array : view.constructor) as new (
    buffer: ArrayBuffer,
    at: number,
    length: number,
  ) => ArrayBufferView
  return new Type(buffer, view.byteOffset, (view as Uint8Array).length)
}

/** Clones an object without members; undefined: it is one with members. */
function cloneLeaf(value: object): object | undefined {
  if (value instanceof Date) return new Date(value.getTime())
  if (value instanceof RegExp) return new RegExp(value.source, value.flags)
  if (value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof BigInt)
    return Object(value.valueOf()) as object
  if (value instanceof ArrayBuffer) return value.slice(0)
  // Blobs never change.
  if (value instanceof Blob) return value
  return undefined
}

function copyProperties(from: object, to: object, seen: Seen): object {
  seen.set(from, to)
  for (const key of Object.keys(from)) {
    const value = cloneValue((from as Record<string, unknown>)[key], seen)
    Object.defineProperty(to, key, { value, writable: true, enumerable: true, configurable: true })
  }
  return to
}

function cloneObject(value: object, seen: Seen): object {
  if (value instanceof Map) {
    const copy = new Map<unknown, unknown>()
    seen.set(value, copy)
    for (const [key, item] of [...value]) copy.set(cloneValue(key, seen), cloneValue(item, seen))
    return copy
  }
  if (value instanceof Set) {
    const copy = new Set<unknown>()
    seen.set(value, copy)
    for (const item of [...value]) copy.add(cloneValue(item, seen))
    return copy
  }
  if (value instanceof Error) return cloneError(value, seen)
  if (ArrayBuffer.isView(value)) return cloneView(value, seen)
  if (Array.isArray(value)) return copyProperties(value, new Array(value.length), seen)
  const isOpaque = value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef || value instanceof Promise
  return isOpaque ? refuse(value) : copyProperties(value, {}, seen)
}

function cloneValue(value: unknown, seen: Seen): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') refuse(value)
  if (typeof value !== 'object' || value === null) return value
  const known = seen.get(value)
  if (known !== undefined) return known
  const copy = cloneLeaf(value) ?? cloneObject(value, seen)
  seen.set(value, copy)
  return copy
}

/** HTML `structuredClone`. ArrayBuffers named in `transfer` are moved. Throws DataCloneError. */
export function structuredClone(value: unknown, options: { transfer?: readonly unknown[] } = {}): unknown {
  const transfer = options?.transfer ?? []
  for (const item of transfer) if (!(item instanceof ArrayBuffer) || item.detached) refuse(item)
  if (new Set(transfer).size !== transfer.length)
    throw new DOMException('An object is listed twice in transfer', 'DataCloneError')
  const seen: Seen = new Map()
  const placeholders = (transfer as ArrayBuffer[]).map((buffer) => [buffer, buffer.slice(0)] as const)
  for (const [buffer, copy] of placeholders) seen.set(buffer, copy)
  const clone = cloneValue(value, seen)
  // Detached only after nothing can fail any more.
  for (const [buffer] of placeholders) buffer.transfer()
  return clone
}
