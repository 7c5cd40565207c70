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

export const classHelpers = {
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
