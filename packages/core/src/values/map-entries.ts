/** The value of a key; makes and remembers it if there is none. */
export function entryOf<Key, Value extends NonNullable<unknown>>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = make()
  map.set(key, value)
  return value
}

/** Sets an entry as the newest one of a map, and drops the oldest one past `maxEntries`. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, maxEntries: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.size > maxEntries ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
}
