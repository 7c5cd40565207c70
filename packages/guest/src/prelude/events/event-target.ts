import { keepContext } from '../../context/context.ts'
import { logUncaught } from '../../host/site-log.ts'
import { performanceNow } from '../time/performance.ts'
import { DOMException } from './dom-exception.ts'

/** Options of `new Event`. */
interface EventInit {
  bubbles?: boolean
  cancelable?: boolean
  composed?: boolean
}

/** DOM `Event`, as far as it makes sense without a tree of nodes. */
export class Event {
  static readonly NONE = 0
  static readonly CAPTURING_PHASE = 1
  static readonly AT_TARGET = 2
  static readonly BUBBLING_PHASE = 3
  readonly type: string
  readonly bubbles: boolean
  readonly cancelable: boolean
  readonly composed: boolean
  readonly timeStamp = performanceNow()
  readonly isTrusted = false
  #target: object | null = null
  #isDispatching = false
  #isPrevented = false
  #isStopped = false
  #isStoppedAtOnce = false

  constructor(type: string, init: EventInit = {}) {
    if (type === undefined) throw new TypeError('Event needs a type')
    this.type = String(type)
    this.bubbles = Boolean(init?.bubbles)
    this.cancelable = Boolean(init?.cancelable)
    this.composed = Boolean(init?.composed)
  }

  get target(): object | null {
    return this.#target
  }

  get srcElement(): object | null {
    return this.#target
  }

  get currentTarget(): object | null {
    return this.#isDispatching ? this.#target : null
  }

  get eventPhase(): number {
    return this.#isDispatching ? Event.AT_TARGET : Event.NONE
  }

  get defaultPrevented(): boolean {
    return this.#isPrevented
  }

  get returnValue(): boolean {
    return !this.#isPrevented
  }

  get cancelBubble(): boolean {
    return this.#isStopped
  }

  set cancelBubble(value: boolean) {
    if (value) this.#isStopped = true
  }

  composedPath(): object[] {
    return this.#isDispatching && this.#target !== null ? [this.#target] : []
  }

  preventDefault(): void {
    if (this.cancelable) this.#isPrevented = true
  }

  stopPropagation(): void {
    this.#isStopped = true
  }

  stopImmediatePropagation(): void {
    this.#isStopped = true
    this.#isStoppedAtOnce = true
  }

  get [Symbol.toStringTag](): string {
    return 'Event'
  }

  /** For `EventTarget` only: marks the begin of a dispatch. Throws during another dispatch. */
  static begin(event: Event, target: object): boolean {
    if (event.#isDispatching) return false
    event.#target = target
    event.#isDispatching = true
    event.#isStoppedAtOnce = false
    return true
  }

  /** For `EventTarget` only: marks the end of a dispatch. */
  static end(event: Event): void {
    event.#isDispatching = false
    event.#isStopped = false
  }

  /** For `EventTarget` only: whether no further listener may be called. */
  static isStoppedAtOnce(event: Event): boolean {
    return event.#isStoppedAtOnce
  }
}

/** DOM `CustomEvent`. */
export class CustomEvent extends Event {
  readonly detail: unknown

  constructor(type: string, init: EventInit & { detail?: unknown } = {}) {
    super(type, init)
    this.detail = init?.detail ?? null
  }

  override get [Symbol.toStringTag](): string {
    return 'CustomEvent'
  }
}

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
