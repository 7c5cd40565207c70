import { asError, type CallContext, ReplyWithBytes } from '@svc/core'
import type { BeginRequest } from '@svc/guest'
import type { RenderHead, RenderProgress, RenderReply, RenderRequest } from '@svc/protocol'
import { type BodyPiece, loadLimitMs, type RenderResult, type RenderTask } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { readFacts, readHead, readVerdict } from './emitted.ts'
import type { PoolJob, SitePool } from './site-pool.ts'
import type { ThreadSlot } from './thread-slot.ts'

/** Options of a `RenderJob`. */
interface RenderJobOptions {
  readonly number: number
  readonly request: RenderRequest
  readonly context: CallContext
  readonly pool: SitePool
  readonly timeoutMs: number
  /** Told once, in milliseconds. */
  readonly onMeasured: (queueMs: number, renderMs: number) => void
}

type Reply = RenderReply | ReplyWithBytes<RenderReply>

function cdnLoopOf(request: RenderRequest): string {
  const found = request.headers.filter(([name]) => name.length === 8 && name.toLowerCase() === 'cdn-loop')
  return found.map(([, value]) => value).join(', ')
}

function beginOf(request: RenderRequest, hasBody: boolean): BeginRequest {
  const { requestId, method, url, headers, params, remoteAddress, mayStream } = request
  return { requestId, method, url, headers, params, remoteAddress, mayStream, hasBody }
}

/** For a render that no worker waits for. */
const noCaller: CallContext = Object.freeze({
  bytes: undefined,
  hasChunks: false,
  onChunk: () => undefined,
  onEnd: () => undefined,
  onAbort: () => undefined,
  isAborted: false,
  send: () => true,
  drained: async () => undefined,
})

/** Tells the worker how far its call is. */
export function report(context: CallContext, progress: RenderProgress['progress']): void {
  const message: RenderProgress = { progress }
  context.send(message)
}

/** One render of a worker: between its call and a thread. */
export class RenderJob implements PoolJob {
  readonly task: RenderTask
  /** The result for the worker. */
  readonly reply: Promise<Reply>
  deadlineAt = Number.POSITIVE_INFINITY
  readonly #options: RenderJobOptions
  readonly #settled = Promise.withResolvers<Reply>()
  readonly #acks: (() => void)[] = []
  readonly #createdAt = performance.now()
  #queueMs = 0
  #slot: ThreadSlot | undefined
  #isHeld = false
  /** True if the worker is told when a thread takes the job. */
  #reportsStart: boolean

  constructor(options: RenderJobOptions) {
    const { request, context, number } = options
    this.#options = options
    this.reply = this.#settled.promise
    this.#reportsStart = request.reportsStart === true
    const hasBody = context.hasChunks || context.bytes !== undefined
    this.task = {
      number,
      kind: request.kind,
      route: request.route,
      begin: JSON.stringify(beginOf(request, hasBody)),
      requestId: request.requestId,
      body: context.bytes,
      hasBodyPieces: context.hasChunks,
      mayStream: request.mayStream,
      cdnLoop: cdnLoopOf(request),
      trace: request.trace,
    }
    context.onAbort(() => this.#abort())
  }

  started(slot: ThreadSlot): void {
    const now = performance.now()
    this.#slot = slot
    this.#queueMs = now - this.#createdAt
    this.deadlineAt = now + loadLimitMs(this.#options.timeoutMs) + this.#options.timeoutMs
    const { context } = this.#options
    if (context.hasChunks) report(context, 'wants-body')
    else if (this.#reportsStart) report(context, 'begun')
  }

  /** The job waits for a thread. A worker whose host dies meanwhile knows then that the request has not begun. */
  queued(): void {
    if (this.#slot !== undefined) return
    this.#reportsStart = true
    report(this.#options.context, 'queued')
  }

  result(result: RenderResult): void {
    switch (result.kind) {
      case 'complete':
        this.#attempt(() => this.#complete(result))
        break
      case 'verdict':
        this.#attempt(() => this.#verdict(result))
        break
      case 'inspected':
      case 'streamed':
      case 'failed':
      case 'aborted':
      case 'untouched':
        this.fail(new RenderError('RENDER_ISOLATE_LOST', `the render ended as ${result.kind}`))
        break
    }
  }

  head(head: string, body: BodyPiece | undefined): void {
    this.deadlineAt = Number.POSITIVE_INFINITY
    const isRead = this.#attempt(() => this.#send(readHead(head).head, body))
    if (!isRead) this.#slot?.abort(this)
  }

  chunk(body: BodyPiece): void {
    this.#send(undefined, body)
  }

  /** Sends a part of a streamed answer; when the worker has enough of it for now, the guest is told to wait. */
  #send(head: RenderHead | undefined, body: BodyPiece | undefined): void {
    if (this.#options.context.send(head, body) || this.#isHeld) return
    this.#isHeld = true
    this.#slot?.send({ t: 'hold', number: this.task.number })
    this.#options.context.drained().then(
      () => {
        this.#isHeld = false
        this.#slot?.send({ t: 'resume', number: this.task.number })
      },
      // The worker is gone: `onAbort` deals with it.
      () => undefined,
    )
  }

  end(facts: string, renderMs: number, body: BodyPiece | undefined): void {
    this.#attempt(() => this.#settle({ cache: readFacts(facts) }, renderMs, body))
  }

  wantBody(): void {
    const { context } = this.#options
    const { number } = this.task
    context.onChunk((bytes, ack) => {
      this.#acks.push(ack)
      this.#slot?.send({ t: 'body', number, bytes })
    })
    context.onEnd(() => this.#slot?.send({ t: 'body', number, bytes: undefined }))
  }

  bodyTaken(): void {
    this.#acks.shift()?.()
  }

  fail(error: Error): void {
    this.#settled.reject(error)
  }

  #abort(): void {
    if (this.#slot === undefined) this.#options.pool.cancel(this)
    else this.#slot.abort(this)
    this.fail(new RenderError('RENDER_ISOLATE_LOST', 'the render was aborted'))
  }

  /** True on success; otherwise the job has failed with the error. */
  #attempt(act: () => void): boolean {
    try {
      act()
      return true
    } catch (error) {
      this.fail(asError(error))
      return false
    }
  }

  #complete({ head: json, body, renderMs }: Extract<RenderResult, { kind: 'complete' }>): void {
    const { head, cache } = readHead(json)
    this.#settle({ head, ...(cache === undefined ? {} : { cache }) }, renderMs, body)
  }

  #verdict({ verdict: json, renderMs }: Extract<RenderResult, { kind: 'verdict' }>): void {
    const { verdict: middleware, cache } = readVerdict(json)
    this.#settle({ middleware, ...(cache === undefined ? {} : { cache }) }, renderMs, undefined)
  }

  #settle(reply: Omit<RenderReply, 'queueMs' | 'renderMs'>, renderMs: number, body: BodyPiece | undefined): void {
    const whole = { ...reply, queueMs: this.#queueMs, renderMs }
    this.#options.onMeasured(this.#queueMs, renderMs)
    this.#settled.resolve(body === undefined ? whole : new ReplyWithBytes(whole, body))
  }
}

/** Runs a render that no worker waits for. Rejects with its error, and if the pool has no place. */
export async function renderUncalled(
  request: RenderRequest,
  pool: SitePool,
  { nextNumber, timeoutMs }: { readonly nextNumber: () => number; readonly timeoutMs: number },
): Promise<Reply> {
  const job = new RenderJob({ number: nextNumber(), request, context: noCaller, pool, timeoutMs, onMeasured: () => undefined })
  pool.run(job)
  return await job.reply
}
