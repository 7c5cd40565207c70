import { CompileError } from '@svc/compile/caches'
import { messageOf, toWire, type WireError } from '@svc/core'
import { Emit, type EmitKind, type EmittedError, type EmittedHead, readEmittedError } from '@svc/guest'
import type { BodyPiece, RenderResult, RenderTask } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import type { ThreadLink } from './thread-link.ts'

type Piece = string | ArrayBuffer | undefined

/** undefined: there is none, or it is empty. */
function bodyOf(piece: Piece): BodyPiece | undefined {
  if (typeof piece === 'string') return piece === '' ? undefined : piece
  return piece === undefined || piece.byteLength === 0 ? undefined : new Uint8Array(piece)
}

/** The parts of a session that an active request uses. */
export interface RequestOwner {
  readonly link: ThreadLink
  /** The request has its last result; `isAnswered`: the guest gave it. */
  ended(request: ActiveRequest, isAnswered: boolean): void
  /** Turns an error of the site into one with source positions, and logs it. */
  siteError(request: ActiveRequest, error: EmittedError, isHandled: boolean): RenderError
}

/** One request in an isolate, from its beginning to the end of its body. */
export class ActiveRequest {
  readonly task: RenderTask
  readonly startedAt = performance.now()
  readonly result: Promise<RenderResult>
  /** The call that begins it, as `GuestIsolate.enter` returned it. */
  entry: Promise<void> | undefined
  readonly #owner: RequestOwner
  readonly #resolve: (result: RenderResult) => void
  #state: 'waiting' | 'streaming' | 'collecting' | 'ended' = 'waiting'
  #head = ''
  #deadline: NodeJS.Timeout | undefined
  #collected: BodyPiece[] = []

  constructor(task: RenderTask, owner: RequestOwner) {
    this.task = task
    this.#owner = owner
    const { promise, resolve } = Promise.withResolvers<RenderResult>()
    this.result = promise
    this.#resolve = resolve
  }

  get hasEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Calls `late` unless the first byte of a stream is out, or the request has ended, by then. Replaces an earlier limit. */
  limit(limitMs: number, late: () => void): void {
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(late, limitMs)
  }

  /**
   * Takes a message of the guest. Messages after the end are dropped. Code of the site may have replaced the functions that the
   * guest uses: an invalid message fails the request.
   */
  emit(kind: EmitKind, a: string | undefined, b: Piece): void {
    if (this.#state === 'ended') return
    try {
      this.#take(kind, a, b)
    } catch (cause) {
      this.fail(new RenderError('RENDER_FAILED', `the isolate sent an invalid response: ${messageOf(cause)}`, { cause }))
    }
  }

  #take(kind: EmitKind, a: string | undefined, b: Piece): void {
    switch (kind) {
      case Emit.complete:
        this.#end({
          kind: 'complete',
          head: a ?? '{}',
          body: bodyOf(b),
          renderMs: this.#elapsedMs(),
        })
        break
      case Emit.head:
        this.#begin(a ?? '{}', bodyOf(b))
        break
      case Emit.text:
      case Emit.bytes:
        this.#piece(bodyOf(b))
        break
      case Emit.finished:
        this.#finished(a ?? '{}', bodyOf(b))
        break
      case Emit.verdict:
        this.#end({ kind: 'verdict', verdict: a ?? '{}', renderMs: this.#elapsedMs() })
        break
      case Emit.failed:
        this.fail(this.#owner.siteError(this, readEmittedError(a), false))
        break
      case Emit.handled:
        this.#owner.siteError(this, readEmittedError(a), true)
        break
    }
  }

  /** Ends the request with an error; a stream is broken off. */
  fail(error: Error): void {
    if (this.#state === 'ended') return
    const wire = wireOf(error)
    if (this.#state === 'streaming') {
      this.#owner.link.result(this.task.number, { kind: 'broken', error: wire })
      this.#end({ kind: 'streamed' })
    } else this.#end({ kind: 'failed', error: wire })
  }

  /** The isolate is gone, and nothing of the request has run in it. */
  giveBack(): void {
    if (this.#state !== 'ended') this.#end({ kind: 'untouched' })
  }

  /** Aborts the request because its client is gone; no result is sent. */
  drop(): void {
    if (this.#state !== 'ended') this.#end({ kind: 'aborted' })
  }

  #begin(head: string, body: BodyPiece | undefined): void {
    if (!this.task.mayStream) {
      this.#head = head
      this.#state = 'collecting'
      this.#piece(body)
      return
    }
    this.#state = 'streaming'
    this.#owner.link.result(this.task.number, { kind: 'head', head, body })
    clearTimeout(this.#deadline)
    this.#resolve({ kind: 'streamed' })
  }

  #piece(body: BodyPiece | undefined): void {
    if (body === undefined) return
    if (this.#state === 'collecting') this.#collected.push(body)
    else if (this.#state === 'streaming') this.#owner.link.result(this.task.number, { kind: 'chunk', body })
  }

  #finished(facts: string, last: BodyPiece | undefined): void {
    const renderMs = this.#elapsedMs()
    if (this.#state === 'streaming') {
      this.#owner.link.result(this.task.number, { kind: 'end', facts, body: last, renderMs })
      this.#end({ kind: 'streamed' })
    } else if (this.#state === 'collecting') {
      const head = JSON.parse(this.#head) as EmittedHead
      this.#piece(last)
      const body = Buffer.concat(this.#collected.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
      this.#end({ kind: 'complete', head: JSON.stringify({ ...head, facts: JSON.parse(facts) }), body, renderMs })
    } else this.#end({ kind: 'inspected', facts })
  }

  #end(result: RenderResult): void {
    this.#state = 'ended'
    clearTimeout(this.#deadline)
    this.#resolve(result)
    this.#collected = []
    this.#owner.ended(this, result.kind !== 'failed' && result.kind !== 'aborted' && result.kind !== 'untouched')
  }

  #elapsedMs(): number {
    return performance.now() - this.startedAt
  }
}

/** Drops the stack of this process from an error: it does not belong into a worker's log. */
export function wireOf(error: Error): WireError {
  const { stack: _stack, ...wire } = toWire(error)
  return error instanceof RenderError || error instanceof CompileError ? wire : { ...wire, code: 'RENDER_FAILED' }
}
