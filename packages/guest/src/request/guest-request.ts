import type { Route } from '@svc/site'
import { type Context, currentContext, nativeThen, runInContext } from '../context/context.ts'
import {
  type BeginKind,
  type BeginRequest,
  Emit,
  type EmitKind,
  type EmittedFacts,
  MAX_EMITTED_TAGS,
} from '../contract/isolate.ts'
import { host } from '../host/host.ts'
import { emittedError, logUncaught } from '../host/site-log.ts'
import { exactBuffer } from '../prelude/encoding/bytes.ts'
import { AbortSignal } from '../prelude/events/abort-signal.ts'
import { ByteQueue } from '../prelude/fetch/byte-queue.ts'
import { Request } from '../prelude/fetch/request.ts'

/** Status and header fields of an answer. */
export interface AnswerHead {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** Something of a request that makes its answer depend on more than the path. */
export type RequestRead = 'headers' | 'cookies' | 'query' | 'host' | 'no-store'

/** Collects what a run reads and wants for its caching. */
export class Facts {
  readonly reads = new Set<RequestRead>()
  readonly #tags = new Set<string>()
  #revalidate: number | false | undefined

  get tags(): ReadonlySet<string> {
    return this.#tags
  }

  /** Adds to the tags, as far as an answer may have them and one more: that one tells that there are too many. */
  addTags(tags: Iterable<string>): void {
    for (const tag of tags) {
      if (this.#tags.size === MAX_EMITTED_TAGS) return
      this.#tags.add(tag)
    }
  }

  /** Seconds, 0 or false (for ever); undefined: nothing was asked for. */
  get revalidate(): number | false | undefined {
    return this.#revalidate
  }

  /** Lowers `revalidate`: the shortest time asked for wins, false is longer than any. */
  limitRevalidate(value: number | false): void {
    const known = this.#revalidate
    if (known === undefined || known === false) this.#revalidate = known === false && value === false ? false : value
    else if (value !== false) this.#revalidate = Math.min(known, value)
  }

  toJSON(): EmittedFacts {
    const base = { reads: [...this.reads], tags: [...this.#tags] }
    return this.#revalidate === undefined ? base : { ...base, revalidate: this.#revalidate }
  }
}

/** Options of a `GuestRequest`. */
interface GuestRequestInit {
  readonly number: number
  readonly kind: BeginKind
  readonly begin: BeginRequest
  readonly route: Route | undefined
  /** Called once, when nothing more is emitted and no body is expected. */
  readonly onEnd: () => void
}

const settled = Promise.resolve()

/**
 * One request in flight in the isolate. Exactly one ending is emitted: `emitComplete`, `finish`, `fail` or `verdict`; what comes
 * after an ending or after an abort is dropped. Nothing here throws.
 */
export class GuestRequest {
  readonly number: number
  readonly kind: BeginKind
  readonly begin: BeginRequest
  /** The route named by the host; undefined for middleware and for a path that no route matches. */
  readonly route: Route | undefined
  readonly facts = new Facts()
  readonly context: Context
  /** Values that helper modules keep for the request, by keys of their own. */
  readonly locals = new Map<unknown, unknown>()
  readonly #onEnd: () => void
  #request: Request | undefined
  #signal: AbortSignal | undefined
  #body: ByteQueue | undefined
  #isEnded = false
  #isAborted = false
  /** JSON of a head that waits for the first piece of the body. */
  #head: string | undefined
  #onAbort: (() => void) | undefined
  #afterTasks: (() => unknown)[] | undefined
  #held: PromiseWithResolvers<void> | undefined

  constructor(init: GuestRequestInit) {
    this.number = init.number
    this.kind = init.kind
    this.begin = init.begin
    this.route = init.route
    this.#onEnd = init.onEnd
    this.context = { request: this, stores: undefined }
    if (init.begin.hasBody) this.#body = new ByteQueue()
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

  get isEnded(): boolean {
    return this.#isEnded
  }

  #emit(kind: EmitKind, a: string | undefined, b?: string | ArrayBuffer): void {
    if (!this.#isEnded) host().emit(this.number, kind, a, b)
  }

  #emitPiece(kind: EmitKind, piece: string | ArrayBuffer): void {
    const head = this.#head
    this.#head = undefined
    if (head === undefined) this.#emit(kind, undefined, piece)
    else this.#emit(Emit.head, head, piece)
  }

  #sendHead(): void {
    const head = this.#head
    this.#head = undefined
    if (head !== undefined) this.#emit(Emit.head, head)
  }

  #end(kind: EmitKind, a: string, b?: string): void {
    if (this.#isEnded) return
    this.#sendHead()
    host().emit(this.number, kind, a, b)
    this.#close()
    for (const task of this.#afterTasks?.splice(0) ?? []) this.#runAfter(task)
  }

  #close(): void {
    this.#isEnded = true
    this.#held?.resolve()
    this.#held = undefined
    this.#body?.fail(new TypeError('The request has ended'))
    this.#onEnd()
  }

  /** Sends the whole answer at once and ends the request. The cheapest way out. */
  emitComplete(head: AnswerHead, body: string): void {
    this.#end(Emit.complete, JSON.stringify({ status: head.status, headers: head.headers, facts: this.facts }), body)
  }

  /** Sends status and fields; body pieces and `finish` follow. They go out with the first piece when it comes in this turn. */
  emitHead(head: AnswerHead): void {
    if (this.#isEnded) return
    this.#head = JSON.stringify({ status: head.status, headers: head.headers })
    // Each call of the host costs as much as many microtasks.
    void nativeThen.call(settled, () => this.#sendHead())
  }

  emitText(text: string): void {
    if (text !== '') this.#emitPiece(Emit.text, text)
  }

  /** Sends bytes. Only the view's own part of its buffer is copied out. */
  emitBytes(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#emitPiece(Emit.bytes, exactBuffer(bytes))
  }

  /** Ends an answer that began with `emitHead`; `text` is the last piece of its body. */
  finish(text?: string): void {
    this.#end(Emit.finished, JSON.stringify(this.facts), text === '' ? undefined : text)
  }

  /** Ends the request with an error: nothing was emitted before, or the answer is broken off. */
  fail(error: unknown, where?: string): void {
    this.#end(Emit.failed, JSON.stringify(emittedError(error, where)))
  }

  /** Tells the site's log of an error that was dealt with (an error boundary was shown). */
  handled(error: unknown, where?: string): void {
    this.#emit(Emit.handled, JSON.stringify(emittedError(error, where)))
  }

  /** Ends a middleware run with a verdict (`MiddlewareVerdict` of the protocol package). */
  verdict(verdict: object): void {
    this.#end(Emit.verdict, JSON.stringify({ ...verdict, facts: this.facts }))
  }

  /** Resolves when the consumer has room; at once when it never asked to hold. Also resolves on abort. */
  ready(): Promise<void> {
    return this.#held?.promise ?? Promise.resolve()
  }

  /** Runs `task` in this request's context after the ending was emitted. Its failure goes to the site's log. */
  after(task: () => unknown): void {
    if (this.#isEnded) {
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

  hold(): void {
    this.#held ??= Promise.withResolvers<void>()
  }

  resume(): void {
    this.#held?.resolve()
    this.#held = undefined
  }

  /** The host gives the request up: nothing more is emitted, tasks for afterwards are dropped. */
  abort(): void {
    if (this.#isEnded) return
    this.#isAborted = true
    this.#isEnded = true
    this.#afterTasks = undefined
    this.#head = undefined
    this.#onAbort?.()
    if (this.#signal !== undefined) AbortSignal.trigger(this.#signal, undefined)
    this.#body?.fail(this.signal.reason)
    this.#close()
  }
}

/** Runs requests of one kind. A throw or a rejection is like `request.fail(error)`. */
export type Runner = (request: GuestRequest) => void | Promise<void>

/** Returns the request that the running code works for; undefined outside of requests. */
export function currentRequest(): GuestRequest | undefined {
  // Only `GuestRequest` makes contexts with an owner.
  return currentContext()?.request as GuestRequest | undefined
}
