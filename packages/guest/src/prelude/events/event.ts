import { performanceNow } from '../time/performance.ts'

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

  /** For `EventTarget` only: marks the begin of a dispatch. Throws when one is under way. */
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
