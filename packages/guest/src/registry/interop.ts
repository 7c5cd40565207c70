/** ESM and CommonJS see each other as with bundlers, since packages are tested with those. */
export type Namespace = Record<string, unknown>

const isObjectLike = (value: unknown): value is Record<string, unknown> =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

function defineGetter(target: object, name: string, get: () => unknown): void {
  Object.defineProperty(target, name, { enumerable: true, configurable: true, get })
}

/** Makes an empty namespace object. */
export function emptyNamespace(): Namespace {
  const namespace: Namespace = Object.create(null)
  Object.defineProperty(namespace, Symbol.toStringTag, { value: 'Module' })
  return namespace
}

/**
 * The namespace that ESM gets of a CommonJS module. Its keys are read live, since the exports may still grow in a cycle. With
 * `__esModule` the exports are the namespace; else `default` is `module.exports` and its keys are named exports too.
 */
export function namespaceOfCommonJs(read: () => unknown): Namespace {
  const isTranspiled = () => {
    const exports = read()
    return isObjectLike(exports) && exports.__esModule === true
  }
  const memberOf = (key: PropertyKey): unknown => {
    const exports = read()
    if (key === 'default' && !isTranspiled()) return exports
    return isObjectLike(exports) ? Reflect.get(exports, key) : undefined
  }
  const has = (key: PropertyKey): boolean => {
    const exports = read()
    if (key === 'default' && !isTranspiled()) return true
    return isObjectLike(exports) && Reflect.has(exports, key)
  }
  return new Proxy(emptyNamespace(), {
    get: (_, key) => (key === Symbol.toStringTag ? 'Module' : memberOf(key)),
    has: (_, key) => has(key),
    ownKeys: (target) => {
      const exports = read()
      const keys = isObjectLike(exports) ? Object.keys(exports) : []
      if (!isTranspiled() && !keys.includes('default')) keys.push('default')
      return [...keys, ...Reflect.ownKeys(target)]
    },
    getOwnPropertyDescriptor: (target, key) => {
      if (key === Symbol.toStringTag) return Reflect.getOwnPropertyDescriptor(target, key)
      return has(key) ? { value: memberOf(key), enumerable: true, configurable: true, writable: true } : undefined
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  })
}

/**
 * The namespace of exports that are complete: as `namespaceOfCommonJs`, but a plain object, since reads of it are what JSX
 * does for every element. Accessors stay accessors.
 */
export function namespaceOfExports(exports: unknown): Namespace {
  const namespace = emptyNamespace()
  if (!isObjectLike(exports)) {
    namespace.default = exports
    return namespace
  }
  for (const key of Object.keys(exports)) {
    const descriptor = Object.getOwnPropertyDescriptor(exports, key)
    if (descriptor !== undefined && 'value' in descriptor) namespace[key] = descriptor.value
    else defineGetter(namespace, key, () => exports[key])
  }
  if (exports.__esModule !== true) namespace.default = exports
  return namespace
}

/** The result of `require` for an ES module: its namespace marked with `__esModule`. */
export function commonJsOfNamespace(namespace: Namespace): Namespace {
  if (Object.hasOwn(namespace, '__esModule')) return namespace
  Object.defineProperty(namespace, '__esModule', { value: true })
  return namespace
}

/** Copies what `export *` takes over: all but `default` and what the module exports itself, as live bindings. */
export function exportAll(target: Namespace, source: unknown): void {
  if (!isObjectLike(source)) return
  for (const name of Object.keys(source)) {
    if (name === 'default' || name === '__esModule' || Object.hasOwn(target, name)) continue
    defineGetter(target, name, () => source[name])
  }
}
