import type { RenderHead, RenderReply } from '@svc/protocol'
import { WorkerError } from '../errors.ts'
import type { RenderHandle, RenderSink } from '../render-client/renderer.ts'
import { BodyCopy } from './body-copy.ts'
import type { Made } from './keeper.ts'
import { refusalOfHead } from './storability.ts'

/** The client that a fill streams to. */
export interface FillClient extends RenderSink {
  /** Called before a whole answer is sent. True: it was dealt with otherwise. */
  takesWhole(made: Made): boolean
}

/** How a fill ended. Told once. */
export type FillEnd =
  | { readonly kind: 'made'; readonly made: Made }
  /** Nothing can be kept of it, though it may still go on to its client. `isFailure`: the next one may be of another kind. */
  | { readonly kind: 'unkept'; readonly detail: string; readonly isFailure: boolean }
  | { readonly kind: 'failed'; readonly error: Error }
  /** Its client left while it waited for a host: nothing was rendered. */
  | { readonly kind: 'unsent' }

/** What a fill is made of. */
export interface PageFillOptions {
  /** undefined: it is made for the store alone. */
  readonly client: FillClient | undefined
  readonly maxBodyBytes: number
  /** How long it goes on when its client has left, and how long a stream may go on to be of use to others. */
  readonly patienceMs: number
  readonly onEnd: (end: FillEnd) => void
}

/**
 * One render for a client and for all others: streams to the client while a copy is collected, and goes on when the client
 * leaves, as long as the copy may be of use.
 */
export class PageFill implements RenderSink {
  readonly #options: PageFillOptions
  readonly #copy: BodyCopy
  #client: FillClient | undefined
  #handle: RenderHandle | undefined
  #head: RenderHead | undefined
  #isSettled = false
  #isOver = false
  #orphanTimer: NodeJS.Timeout | undefined
  #streamTimer: NodeJS.Timeout | undefined

  constructor(options: PageFillOptions) {
    this.#options = options
    this.#client = options.client
    this.#copy = new BodyCopy(options.maxBodyBytes)
  }

  /** Whether the answer has begun, in pieces. */
  get isStreaming(): boolean {
    return this.#head !== undefined
  }

  /** Ties the fill to its render. */
  attach(handle: RenderHandle): void {
    this.#handle = handle
    if (this.#isOver) handle.abort()
  }

  /** The client is served or gone. */
  clientLeft(): void {
    this.#client = undefined
    if (this.#isOver) return
    if (this.#isSettled) this.#stop()
    else if (this.#handle?.isWaiting === true) {
      this.#stop()
      this.#settle({ kind: 'unsent' })
    } else this.#orphanTimer ??= setTimeout(() => this.#giveUp(), this.#options.patienceMs)
  }

  complete(reply: RenderReply, body: Uint8Array | undefined): void {
    this.#finish()
    if (reply.head === undefined) {
      this.#failed(new TypeError('the render host answered without a head'))
      return
    }
    const client = this.#client
    if ((body?.byteLength ?? 0) > this.#options.maxBodyBytes) {
      client?.complete(reply, body)
      this.#settle({ kind: 'unkept', detail: 'size', isFailure: false })
      return
    }
    // One copy for the store, this client and those who wait.
    const made = { head: reply.head, facts: reply.cache, body: Buffer.from(body ?? '') }
    if (client?.takesWhole(made) === false) client.complete(reply, made.body)
    this.#settle({ kind: 'made', made })
  }

  head(head: RenderHead): void {
    this.#head = head
    this.#client?.head(head)
    const refusal = refusalOfHead(head.status, head.headers)
    if (refusal !== undefined) this.#unkept(refusal, head.status >= 500)
    // Events for one client may come for days: others get their own.
    else this.#streamTimer = setTimeout(() => this.#unkept('stream', false), this.#options.patienceMs)
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    if (!this.#isSettled && !this.#copy.add(bytes)) this.#unkept('size', false)
    if (this.#isSettled) {
      this.#client?.chunk(bytes, ack)
      return
    }
    // A slow client must not hold up the others: what it does not take yet is bounded by the copy.
    this.#client?.chunk(bytes, () => undefined)
    ack()
  }

  end(reply: RenderReply): void {
    this.#finish()
    this.#client?.end(reply)
    if (this.#head === undefined) return
    this.#settle({ kind: 'made', made: { head: this.#head, facts: reply.cache, body: this.#copy.whole() } })
  }

  fail(error: Error): void {
    this.#finish()
    this.#failed(error)
  }

  #failed(error: Error): void {
    const client = this.#client
    this.#settle({ kind: 'failed', error })
    client?.fail(error)
  }

  #unkept(detail: string, isFailure: boolean): void {
    this.#settle({ kind: 'unkept', detail, isFailure })
    if (this.#client === undefined) this.#stop()
  }

  #giveUp(): void {
    this.#stop()
    this.#settle({
      kind: 'failed',
      error: new WorkerError('WORKER_RENDER_ABANDONED', 'its client left, and the render did not end in time'),
    })
  }

  #stop(): void {
    this.#finish()
    this.#handle?.abort()
  }

  #finish(): void {
    this.#isOver = true
    clearTimeout(this.#orphanTimer)
  }

  #settle(end: FillEnd): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#streamTimer)
    this.#options.onEnd(end)
  }
}
