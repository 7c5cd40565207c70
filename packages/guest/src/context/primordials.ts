/**
 * Functions and collections of the engine as they are before code of a site runs. That may replace every built-in that it finds: a
 * `Map.prototype.get` of its own would be handed the requests in flight, a `JSON.stringify` of its own could name another
 * request in a call of the host. What tells requests apart is kept and written with these.
 */
export const { parse } = JSON
const { stringify } = JSON

/** JSON of an object whose fields the guest has chosen. A `toJSON` of a polluted `Object.prototype` is not asked. */
export function jsonOf(fields: object): string {
  return stringify({ ...fields, toJSON: undefined })
}

export class OwnMap<Key, Value> extends Map<Key, Value> {}
export class OwnSet<Value> extends Set<Value> {}
export class OwnWeakMap<Key extends WeakKey, Value> extends WeakMap<Key, Value> {}

for (const Collection of [OwnMap, OwnSet, OwnWeakMap]) {
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(Collection.prototype))
  Object.defineProperties(Collection.prototype, methods)
}
