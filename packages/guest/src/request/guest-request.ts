import type { Route } from '@svc/site'
import { type Context, currentContext, runInContext } from '../context/context.ts'
import { OwnMap } from '../context/primordials.ts'
import type { BeginKind, BeginRequest } from '../contract/isolate.ts'
import { logUncaught } from '../host/site-log.ts'
import { AbortSignal } from '../prelude/events/abort-signal.ts'
import { ByteQueue } from '../prelude/fetch/byte-queue.ts'
import { Request } from '../prelude/fetch/request.ts'
import { Answer } from './answer.ts'

/** Options of a `GuestRequest`. */
interface GuestRequestInit {
  readonly number: number
  readonly kind: BeginKind
  readonly begin: BeginRequest
  readonly route: Route | undefined
  /** Called once, when nothing more is emitted and no body is expected. */
  readonly onEnd: () => void
}

/** One request in flight in the isolate. Nothing here throws. */
export class GuestRequest {
  readonly number: number
  readonly kind: BeginKind
  readonly begin: BeginRequest
  /** The route named by the host; undefined for middleware and for a path that no route matches. */
  readonly route: Route | undefined
  readonly answer: Answer
  readonly context: Context
  /** Values that helper modules keep for the request, by keys of their own. */
  readonly locals = new OwnMap<unknown, unknown>()
  readonly #onEnd: () => void
  #request: Request | undefined
  #signal: AbortSignal | undefined
  readonly #body: ByteQueue | undefined
  #isAborted = false
  #onAbort: (() => void) | undefined
  #afterTasks: (() => unknown)[] | undefined

  constructor(init: GuestRequestInit) {
    this.number = init.number
    this.kind = init.kind
    this.begin = init.begin
    this.route = init.route
    this.#onEnd = init.onEnd
    this.context = { request: this, stores: undefined }
    this.answer = new Answer(init.number, () => this.#ended())
    if (init.begin.hasBody) this.#body = new ByteQueue()
  }

  get facts(): Answer['facts'] {
    return this.answer.facts
  }

  /** Fires when the client is gone or the deadline has passed. */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#signal = AbortSignal.create()
      if (this.#isAborted) AbortSignal.trigger(this.#signal, undefined)
    }
    return this.#signal
  }

  /** Calls `task` when the request is aborted, before `signal` fires: cheaper than making a signal. The last one set counts. */
  onAbort(task: () => void): void {
    this.#onAbort = task
    if (this.#isAborted) task()
  }

  /** The WHATWG request, made on first use. Its body is a stream that is filled as the host hands pieces over. */
  get request(): Request {
    const { url, method, headers } = this.begin
    this.#request ??= Request.received(url, { method, headers, signal: this.signal }, this.#body ?? null)
    return this.#request
  }

  #ended(): void {
    this.#body?.fail(new TypeError('The request has ended'))
    this.#onEnd()
    for (const task of this.#afterTasks?.splice(0) ?? []) this.#runAfter(task)
  }

  /** Runs `task` in this request's context after the ending was emitted. Its failure goes to the site's log. */
  after(task: () => unknown): void {
    if (this.answer.isEnded) {
      this.#runAfter(task)
      return
    }
    this.#afterTasks ??= []
    this.#afterTasks.push(task)
  }

  #runAfter(task: () => unknown): void {
    const failed = (error: unknown) =>
      runInContext(this.context, () => logUncaught(error, 'uncaught error in a task after the response'))
    // In a microtask of its own: the ending must be out before any of the site's code goes on.
    Promise.resolve()
      .then(() => runInContext(this.context, task))
      .catch(failed)
  }

  /** The host hands over a piece of the body, or its end. */
  takeBody(bytes: ArrayBuffer | undefined): void {
    if (bytes === undefined) this.#body?.end()
    else this.#body?.push(new Uint8Array(bytes))
  }

  /** The host gives the request up: nothing more is emitted, tasks for afterwards are dropped. */
  abort(): void {
    if (this.answer.isEnded) return
    this.#isAborted = true
    this.#afterTasks = undefined
    this.answer.drop()
    this.#onAbort?.()
    if (this.#signal !== undefined) AbortSignal.trigger(this.#signal, undefined)
    this.#body?.fail(this.signal.reason)
    this.#onEnd()
  }
}

/** Runs requests of one kind. A throw or a rejection is like `request.fail(error)`. */
export type Runner = (request: GuestRequest) => void | Promise<void>

/** Returns the request that the running code works for; undefined outside of requests. */
export function currentRequest(): GuestRequest | undefined {
  // Only `GuestRequest` makes contexts with an owner.
  return currentContext()?.request as GuestRequest | undefined
}
