import { keepContext } from '../../context/context.ts'
import { logUncaught } from '../../host/site-log.ts'
import { DOMException } from './dom-exception.ts'
import { Event } from './event.ts'

type EventListener = ((event: Event) => unknown) | { handleEvent(event: Event): unknown }

/** Options of `addEventListener`. */
interface ListenerOptions {
  capture?: boolean
  once?: boolean
  passive?: boolean
  signal?: EventTarget & { readonly aborted: boolean }
}

interface Entry {
  readonly listener: EventListener
  readonly call: (event: Event) => unknown
  readonly capture: boolean
  readonly once: boolean
  isRemoved: boolean
}

const captureOf = (options: ListenerOptions | boolean | undefined): boolean =>
  typeof options === 'object' && options !== null ? Boolean(options.capture) : Boolean(options)

/** DOM `EventTarget` without a tree. A listener runs in the context in which it was added. */
export class EventTarget {
  readonly #entries = new Map<string, Entry[]>()

  addEventListener(type: string, listener: EventListener | null, options?: ListenerOptions | boolean): void {
    if (listener === null || listener === undefined) return
    const details = typeof options === 'object' && options !== null ? options : {}
    if (details.signal?.aborted) return
    const capture = captureOf(options)
    const list = this.#entries.get(type) ?? []
    if (list.some((entry) => entry.listener === listener && entry.capture === capture)) return
    const call = keepContext((event: Event) =>
      typeof listener === 'function' ? Reflect.apply(listener, this, [event]) : listener.handleEvent(event),
    )
    list.push({ listener, call, capture, once: Boolean(details.once), isRemoved: false })
    this.#entries.set(type, list)
    details.signal?.addEventListener('abort', () => this.removeEventListener(type, listener, { capture }), { once: true })
  }

  removeEventListener(type: string, listener: EventListener | null, options?: ListenerOptions | boolean): void {
    const list = this.#entries.get(type)
    const at = list?.findIndex((entry) => entry.listener === listener && entry.capture === captureOf(options)) ?? -1
    if (list === undefined || at < 0) return
    const [entry] = list.splice(at, 1)
    if (entry !== undefined) entry.isRemoved = true
    if (list.length === 0) this.#entries.delete(type)
  }

  /** Calls the listeners. A throw of one is logged, the others still run. False when the default was prevented. */
  dispatchEvent(event: Event): boolean {
    if (!(event instanceof Event)) throw new TypeError('dispatchEvent needs an Event')
    if (!Event.begin(event, this)) throw new DOMException('The event is already being dispatched', 'InvalidStateError')
    for (const entry of [...(this.#entries.get(event.type) ?? [])]) {
      if (entry.isRemoved) continue
      if (entry.once) this.removeEventListener(event.type, entry.listener, { capture: entry.capture })
      try {
        entry.call(event)
      } catch (error) {
        logUncaught(error, 'uncaught error in an event listener')
      }
      if (Event.isStoppedAtOnce(event)) break
    }
    Event.end(event)
    return !event.defaultPrevented
  }

  get [Symbol.toStringTag](): string {
    return 'EventTarget'
  }
}
