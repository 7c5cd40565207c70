/**
 * A weak map that is asked for the same key many times in a row: the last one is found without looking into the table. It holds on
 * to that one key until another is found.
 */
export class RecentWeakMap<Key extends WeakKey, Value extends NonNullable<unknown>> {
  readonly #all = new WeakMap<Key, Value>()
  #lastKey: Key | undefined
  #lastValue: Value | undefined

  get(key: Key): Value | undefined {
    if (key === this.#lastKey) return this.#lastValue
    const value = this.#all.get(key)
    if (value === undefined) return undefined
    this.#lastKey = key
    this.#lastValue = value
    return value
  }

  set(key: Key, value: Value): void {
    this.#all.set(key, value)
    this.#lastKey = key
    this.#lastValue = value
  }
}
