import { Event, EventTarget } from './events/event-target.ts'
import { structuredClone } from './structured-clone.ts'
import { setTimeout } from './time/timers.ts'

/** HTML `MessageEvent`. */
export class MessageEvent extends Event {
  readonly data: unknown
  readonly ports: readonly unknown[]

  constructor(type: string, init: { data?: unknown; ports?: readonly unknown[] } = {}) {
    super(type)
    this.data = init?.data ?? null
    this.ports = init?.ports ?? []
  }
}

type Listener = (event: MessageEvent) => unknown

/** HTML `MessagePort` within the isolate. Messages are cloned and arrive in a task of their own. */
export class MessagePort extends EventTarget {
  #peer: MessagePort | undefined
  #isStarted = false
  #onmessage: Listener | null = null
  readonly #waiting: unknown[] = []

  get onmessage(): Listener | null {
    return this.#onmessage
  }

  set onmessage(listener: Listener | null) {
    if (this.#onmessage !== null) this.removeEventListener('message', this.#onmessage as (event: Event) => unknown)
    this.#onmessage = typeof listener === 'function' ? listener : null
    if (this.#onmessage !== null) this.addEventListener('message', this.#onmessage as (event: Event) => unknown)
    this.start()
  }

  postMessage(data: unknown, options?: { transfer?: readonly unknown[] } | readonly unknown[]): void {
    const transfer = Array.isArray(options)
      ? options
      : ((options as { transfer?: readonly unknown[] } | undefined)?.transfer ?? [])
    const copy = structuredClone(data, { transfer })
    const peer = this.#peer
    if (peer !== undefined) setTimeout(() => peer.#deliver(copy), 0)
  }

  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    for (const data of this.#waiting.splice(0)) setTimeout(() => this.#deliver(data), 0)
  }

  close(): void {
    if (this.#peer !== undefined) this.#peer.#peer = undefined
    this.#peer = undefined
  }

  #deliver(data: unknown): void {
    if (this.#isStarted) this.dispatchEvent(new MessageEvent('message', { data }))
    else this.#waiting.push(data)
  }

  /** For `MessageChannel` only. */
  static connect(one: MessagePort, other: MessagePort): void {
    one.#peer = other
    other.#peer = one
  }
}

/** HTML `MessageChannel`. */
export class MessageChannel {
  readonly port1 = new MessagePort()
  readonly port2 = new MessagePort()

  constructor() {
    MessagePort.connect(this.port1, this.port2)
  }
}
