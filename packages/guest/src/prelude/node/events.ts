type Listener = (...args: unknown[]) => unknown
type EventName = string | symbol

interface Entry {
  readonly listener: Listener
  readonly call: Listener
}

/** Node's `EventEmitter`, as packages for servers at the edge use it. */
export class EventEmitter {
  static defaultMaxListeners = 10
  readonly #entries = new Map<EventName, Entry[]>()

  #add(name: EventName, entry: Entry, isFirst: boolean): this {
    if (typeof entry.listener !== 'function') throw new TypeError('The listener must be a function')
    const list = this.#entries.get(name) ?? []
    if (isFirst) list.unshift(entry)
    else list.push(entry)
    this.#entries.set(name, list)
    return this
  }

  #once(name: EventName, listener: Listener): Entry {
    const call: Listener = (...args) => {
      this.#remove(name, (entry) => entry.call === call)
      return listener.apply(this, args)
    }
    return { listener, call }
  }

  #remove(name: EventName, matches: (entry: Entry) => boolean): this {
    const list = this.#entries.get(name) ?? []
    const at = list.findLastIndex(matches)
    if (at >= 0) this.#entries.set(name, list.toSpliced(at, 1))
    if (this.#entries.get(name)?.length === 0) this.#entries.delete(name)
    return this
  }

  on(name: EventName, listener: Listener): this {
    return this.#add(name, { listener, call: listener }, false)
  }

  addListener(name: EventName, listener: Listener): this {
    return this.on(name, listener)
  }

  prependListener(name: EventName, listener: Listener): this {
    return this.#add(name, { listener, call: listener }, true)
  }

  once(name: EventName, listener: Listener): this {
    return this.#add(name, this.#once(name, listener), false)
  }

  prependOnceListener(name: EventName, listener: Listener): this {
    return this.#add(name, this.#once(name, listener), true)
  }

  off(name: EventName, listener: Listener): this {
    return this.#remove(name, (entry) => entry.listener === listener)
  }

  removeListener(name: EventName, listener: Listener): this {
    return this.off(name, listener)
  }

  removeAllListeners(name?: EventName): this {
    if (name === undefined) this.#entries.clear()
    else this.#entries.delete(name)
    return this
  }

  /** Calls the listeners in order. An `error` without a listener is thrown. */
  emit(name: EventName, ...args: unknown[]): boolean {
    const list = this.#entries.get(name)
    if (list === undefined) {
      if (name !== 'error') return false
      throw args[0] instanceof Error ? args[0] : new Error(`Unhandled error. (${String(args[0])})`)
    }
    for (const { call } of [...list]) call.apply(this, args)
    return true
  }

  listeners(name: EventName): Listener[] {
    return (this.#entries.get(name) ?? []).map((entry) => entry.listener)
  }

  rawListeners(name: EventName): Listener[] {
    return (this.#entries.get(name) ?? []).map((entry) => entry.call)
  }

  listenerCount(name: EventName): number {
    return this.#entries.get(name)?.length ?? 0
  }

  eventNames(): EventName[] {
    return [...this.#entries.keys()]
  }

  setMaxListeners(): this {
    return this
  }

  getMaxListeners(): number {
    return EventEmitter.defaultMaxListeners
  }
}

/** Resolves with the arguments of the next event; rejects with the next `error`. */
export function once(emitter: EventEmitter, name: EventName): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const onError: Listener = (error) => {
      emitter.off(name, onEvent)
      reject(error)
    }
    const onEvent: Listener = (...args) => {
      emitter.off('error', onError)
      resolve(args)
    }
    emitter.once(name, onEvent)
    if (name !== 'error') emitter.once('error', onError)
  })
}
