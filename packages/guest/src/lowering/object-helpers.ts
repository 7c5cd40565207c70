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

export const objectHelpers = {
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
