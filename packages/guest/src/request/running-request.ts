import type { Route } from '@svc/site'
import { type Context, runInContext } from '../context/context.ts'
import { nativeThen } from '../context/promise-then.ts'
import { type BeginKind, type BeginRequest, Emit, type EmitKind } from '../contract/isolate.ts'
import { host } from '../host/host.ts'
import { emittedError, logUncaught } from '../host/site-log.ts'
import { exactBuffer } from '../prelude/encoding/bytes.ts'
import { AbortSignal } from '../prelude/events/abort-signal.ts'
import { ByteQueue } from '../prelude/fetch/byte-queue.ts'
import { Request } from '../prelude/fetch/request.ts'
import { type AnswerHead, Facts, type GuestRequest } from './guest-request.ts'

/** Options of a `RunningRequest`. */
interface RunningRequestInit {
  readonly number: number
  readonly kind: BeginKind
  readonly begin: BeginRequest
  readonly route: Route | undefined
  /** Called once, when nothing more is emitted and no body is expected. */
  readonly onEnd: () => void
}

const settled = Promise.resolve()

/** One request in flight in the isolate. */
export class RunningRequest implements GuestRequest {
  readonly number: number
  readonly kind: BeginKind
  readonly begin: BeginRequest
  readonly route: Route | undefined
  readonly facts = new Facts()
  readonly context: Context
  readonly #onEnd: () => void
  #locals: Map<unknown, unknown> | undefined
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

  constructor(init: RunningRequestInit) {
    this.number = init.number
    this.kind = init.kind
    this.begin = init.begin
    this.route = init.route
    this.#onEnd = init.onEnd
    this.context = { request: this, stores: undefined }
    if (init.begin.hasBody) this.#body = new ByteQueue()
  }

  get locals(): Map<unknown, unknown> {
    this.#locals ??= new Map()
    return this.#locals
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#signal = AbortSignal.create()
      if (this.#isAborted) AbortSignal.trigger(this.#signal, undefined)
    }
    return this.#signal
  }

  onAbort(task: () => void): void {
    this.#onAbort = task
    if (this.#isAborted) task()
  }

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

  emitComplete(head: AnswerHead, body: string): void {
    this.#end(Emit.complete, JSON.stringify({ status: head.status, headers: head.headers, facts: this.facts }), body)
  }

  emitHead(head: AnswerHead): void {
    if (this.#isEnded) return
    this.#head = JSON.stringify({ status: head.status, headers: head.headers })
    // Each call of the host costs as much as many microtasks.
    void nativeThen.call(settled, () => this.#sendHead())
  }

  emitText(text: string): void {
    if (text !== '') this.#emitPiece(Emit.text, text)
  }

  emitBytes(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#emitPiece(Emit.bytes, exactBuffer(bytes))
  }

  finish(text?: string): void {
    this.#end(Emit.finished, JSON.stringify(this.facts), text === '' ? undefined : text)
  }

  fail(error: unknown, where?: string): void {
    this.#end(Emit.failed, JSON.stringify(emittedError(error, where)))
  }

  handled(error: unknown, where?: string): void {
    this.#emit(Emit.handled, JSON.stringify(emittedError(error, where)))
  }

  verdict(verdict: object): void {
    this.#end(Emit.verdict, JSON.stringify({ ...verdict, facts: this.facts }))
  }

  ready(): Promise<void> {
    return this.#held?.promise ?? Promise.resolve()
  }

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
