import { asyncGeneratorDelegate, asyncIterator, awaitAsyncGenerator, wrapAsyncGenerator } from './async-generator.ts'
import { asyncToGenerator } from './async-to-generator.ts'
import { usingCtx } from './using-context.ts'

/** Helpers for private members and `super`, with the names and meaning that the compiler's output expects. */
type Method = (...args: unknown[]) => unknown
type Brand = WeakMap<object, unknown> | WeakSet<object>

function assertNew(target: object, brand: Brand): void {
  if (brand.has(target)) throw new TypeError('Cannot initialize the same private elements twice on an object')
}

/** Returns `value` (or `target`) when `target` carries the brand: a class itself, or the private storage. */
function assertClassBrand(brand: unknown, target: unknown, ...value: [unknown?]): unknown {
  const isMember =
    typeof brand === 'function'
      ? brand === target
      : typeof target === 'object' || typeof target === 'function'
        ? (brand as Brand).has(target as object)
        : false
  if (isMember) return value.length === 0 ? target : value[0]
  throw new TypeError('Private element is not present on this object')
}

/** Calls `write` for an assignment to a pattern: `({ x: toSetter(...)._ } = y)`. */
function toSetter(write: Method, args: unknown[], receiver?: unknown): { _: unknown } {
  const list = args ?? []
  const at = list.length++
  return Object.defineProperty({} as { _: unknown }, '_', {
    set(value: unknown) {
      list[at] = value
      write.apply(receiver, list)
    },
  })
}

/** `super.name`: with bit 1 of `flags` the receiver is a prototype, with bit 2 a function is returned that takes arguments. */
function superPropGet(type: object, name: PropertyKey, receiver: object, flags = 0): unknown {
  const home = Object.getPrototypeOf((flags & 1) === 1 ? (type as { prototype: object }).prototype : type)
  const value: unknown = Reflect.get(home, name, receiver)
  return (flags & 2) === 2 && typeof value === 'function' ? (args: unknown[]) => Reflect.apply(value, receiver, args) : value
}

function superPropSet(
  ...call: [type: object, name: PropertyKey, value: unknown, receiver: object, isStrict: boolean, flags: number]
): unknown {
  const [type, name, value, receiver, isStrict, flags] = call
  const home = Object.getPrototypeOf(flags ? (type as { prototype: object }).prototype : type)
  if (!Reflect.set(home, name, value, receiver) && isStrict) throw new TypeError('failed to set property')
  return value
}

let looseKeys = 0

const classHelpers = {
  assertClassBrand,
  toSetter,
  superPropGet,
  superPropSet,
  classPrivateFieldInitSpec(target: object, fields: WeakMap<object, unknown>, value: unknown) {
    assertNew(target, fields)
    fields.set(target, value)
  },
  classPrivateMethodInitSpec(target: object, brand: WeakSet<object>) {
    assertNew(target, brand)
    brand.add(target)
  },
  classPrivateFieldGet2(fields: WeakMap<object, unknown>, target: object) {
    return fields.get(assertClassBrand(fields, target) as object)
  },
  classPrivateFieldSet2(fields: WeakMap<object, unknown>, target: object, value: unknown) {
    fields.set(assertClassBrand(fields, target) as object, value)
    return value
  },
  classPrivateFieldLooseKey: (name: string) => `__private_${looseKeys++}_${name}`,
  classPrivateFieldLooseBase(target: object, key: string) {
    if (!Object.hasOwn(target, key)) throw new TypeError('attempted to use private field on non-instance')
    return target
  },
  checkInRHS(value: unknown) {
    if (Object(value) !== value)
      throw new TypeError(`right-hand side of 'in' should be an object, got ${value === null ? 'null' : typeof value}`)
    return value
  },
  setFunctionName(target: object, name: unknown, prefix?: string) {
    const text = typeof name === 'symbol' ? (name.description === undefined ? '' : `[${name.description}]`) : String(name)
    return Object.defineProperty(target, 'name', { configurable: true, value: prefix ? `${prefix} ${text}` : text })
  },
}

/** Helpers for TypeScript's decorators (`experimentalDecorators`). */
type Decorator = (target: object, key?: PropertyKey, descriptor?: unknown) => unknown

function decorate(
  decorators: readonly Decorator[],
  target: object,
  key?: PropertyKey,
  descriptor?: PropertyDescriptor | null,
): unknown {
  const isMember = key !== undefined
  let result: unknown = isMember ? (descriptor === null ? Object.getOwnPropertyDescriptor(target, key) : descriptor) : target
  for (const decorator of decorators.toReversed()) {
    const answer = isMember ? decorator(target, key, result) : decorator(result as object)
    result = answer || result
  }
  if (isMember && result) Object.defineProperty(target, key, result as PropertyDescriptor)
  return result
}

/** `Reflect.metadata` of a polyfill that the site may load. */
type MetadataFactory = (key: string, value: unknown) => Decorator

const decoratorHelpers = {
  decorate,
  decorateParam:
    (index: number, decorator: (target: object, key: PropertyKey | undefined, index: number) => unknown): Decorator =>
    (target, key) =>
      decorator(target, key, index),
  decorateMetadata(key: string, value: unknown): Decorator | undefined {
    const metadata = (Reflect as { metadata?: MetadataFactory }).metadata
    return typeof metadata === 'function' ? metadata(key, value) : undefined
  },
}

/** Helpers for object spread, rest, computed keys, templates and write protection. */
type Bag = Record<PropertyKey, unknown>

function toPropertyKey(value: unknown): PropertyKey {
  const key =
    typeof value === 'object' || typeof value === 'function' ? Reflect.ownKeys({ [value as unknown as string]: 0 })[0] : value
  return typeof key === 'symbol' ? key : String(key)
}

/** Sets an own property whatever the prototype says, as a class field or a literal does. */
function defineProperty(target: object, key: unknown, value: unknown): object {
  return Object.defineProperty(target, toPropertyKey(key), { value, enumerable: true, configurable: true, writable: true })
}

/**
 * `{...a, b}`: sources come in turns, first a spread object, whose enumerable values are read, then a piece of literal, whose
 * getters are kept. The target is always fresh.
 */
function objectSpread2(target: Bag, ...sources: unknown[]): Bag {
  for (const [index, source] of sources.entries()) {
    if (source === null || source === undefined) continue
    if (index % 2 === 1) Object.defineProperties(target, Object.getOwnPropertyDescriptors(source))
    else copyEnumerable(target, Object(source))
  }
  return target
}

function copyEnumerable(target: Bag, source: Bag): void {
  for (const key of Reflect.ownKeys(source)) {
    if (Object.prototype.propertyIsEnumerable.call(source, key)) defineProperty(target, key, source[key])
  }
}

function objectWithoutProperties(source: unknown, excluded: readonly PropertyKey[]): Bag {
  if (source === null || source === undefined) return {}
  const rest: Bag = {}
  const from = Object(source) as Bag
  for (const key of Reflect.ownKeys(from)) {
    if (excluded.includes(key) || !Object.prototype.propertyIsEnumerable.call(from, key)) continue
    defineProperty(rest, key, from[key])
  }
  return rest
}

const objectHelpers = {
  toPropertyKey,
  defineProperty,
  objectSpread2,
  objectWithoutProperties,
  extends: Object.assign,
  objectDestructuringEmpty(value: unknown) {
    if (value === null || value === undefined) throw new TypeError(`Cannot destructure ${value}`)
  },
  taggedTemplateLiteral(strings: string[], raw?: string[]) {
    return Object.freeze(Object.defineProperties(strings, { raw: { value: Object.freeze(raw ?? strings.slice(0)) } }))
  },
  readOnlyError(name: string): never {
    throw new TypeError(`"${name}" is read-only`)
  },
  writeOnlyError(name: string): never {
    throw new TypeError(`"${name}" is write-only`)
  },
}

/** Defines the global `babelHelpers`, which compiled modules of a site refer to. */
export function installLoweringHelpers(): void {
  const helpers = Object.freeze({
    ...classHelpers,
    ...decoratorHelpers,
    ...objectHelpers,
    asyncGeneratorDelegate,
    asyncIterator,
    asyncToGenerator,
    awaitAsyncGenerator,
    usingCtx,
    wrapAsyncGenerator,
  })
  Object.defineProperty(globalThis, 'babelHelpers', { value: helpers, writable: false, enumerable: false, configurable: false })
}
