import { useEffect, useState } from 'preact/hooks'

/** A value that components follow. */
export class Store<Value> {
  #value: Value
  readonly #followers = new Set<(value: Value) => void>()

  constructor(value: Value) {
    this.#value = value
  }

  get value(): Value {
    return this.#value
  }

  set(value: Value): void {
    if (value === this.#value) return
    this.#value = value
    for (const follow of this.#followers) follow(value)
  }

  /** Returns a function that ends it. */
  follow(follower: (value: Value) => void): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }
}

/** The value of a store; draws again when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [value, setValue] = useState(store.value)
  useEffect(() => {
    setValue(store.value)
    return store.follow(setValue)
  }, [store])
  return value
}
