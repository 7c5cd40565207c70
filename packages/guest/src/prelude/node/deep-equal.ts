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
export function isDeepStrictEqual(one: unknown, other: unknown): boolean {
  return equal(one, other, [])
}
