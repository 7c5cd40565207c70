interface Held<Value> {
  value: Value | undefined
}

/**
 * A map for what comes and goes with every request.
 *
 * When the table of a `Map` is full of deleted entries, V8 replaces it by another, and the old table keeps what it held and a
 * reference to its successor. Once a full garbage collection has moved one table to the old generation, each table therefore
 * keeps the next one alive, down to the next full collection: of a `Map` with 32 requests in flight, nearly every request ever
 * made, which all the collections of the young generation then copy. Here an entry lets go of its value when it is deleted.
 */
export class TransientMap<Key extends string | number, Value extends NonNullable<unknown>> {
  readonly #entries: Map<Key, Held<Value>>

  /** @param entries holds the entries; it must be empty */
  constructor(entries = new Map<Key, Held<Value>>()) {
    this.#entries = entries
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value
  }

  has(key: Key): boolean {
    return this.#entries.has(key)
  }

  set(key: Key, value: Value): void {
    this.delete(key)
    this.#entries.set(key, { value })
  }

  /** Removes an entry and returns its value, if there was one. */
  take(key: Key): Value | undefined {
    const held = this.#entries.get(key)
    if (held === undefined) return undefined
    this.#entries.delete(key)
    const { value } = held
    held.value = undefined
    return value
  }

  /** Returns true if there was such an entry. */
  delete(key: Key): boolean {
    return this.take(key) !== undefined
  }

  /** The values of now, in the order in which they came. */
  values(): Value[] {
    return Array.from(this.#entries.values(), ({ value }) => value as Value)
  }

  /** The keys of now, in the order in which they came. */
  keys(): Key[] {
    return [...this.#entries.keys()]
  }

  clear(): void {
    for (const key of this.keys()) this.delete(key)
  }
}
