import type { HeaderList, ResponseHead, ResponseSource } from '@svc/http'
import type { CacheFacts } from '@svc/protocol'
import { WorkerError } from '../errors.ts'
import type { RenderSink, RenderSource } from '../render-client/renderer.ts'
import { BodyCopy } from './body-copy.ts'
import type { Made } from './keeper.ts'
import { refusalOfHead } from './storability.ts'

/** The client whose request began a fill: it gets a stream as it comes. */
export interface FillClient {
  readonly sink: Omit<RenderSink, 'attach'> & { attach(source: ResponseSource): void }
  /** Called before a whole response is sent. True: it was dealt with otherwise. */
  takesWhole(made: Made): boolean
  /** Called with a failure before anything was sent. True: it was dealt with otherwise. */
  takesFailure(error: Error): boolean
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
export class PageFill implements RenderSink, ResponseSource {
  readonly #options: PageFillOptions
  readonly #copy: BodyCopy
  #client: FillClient | undefined
  #source: RenderSource | undefined
  #head: ResponseHead | undefined
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

  attach(source: RenderSource): void {
    this.#source = source
    this.#client?.sink.attach(this)
  }

  resume(): void {
    this.#source?.resume()
  }

  /** The client has left. */
  abort(): void {
    this.clientLeft()
  }

  /** There is no client, or none any more. */
  clientLeft(): void {
    this.#client = undefined
    if (this.#isOver) return
    if (this.#isSettled) this.#stop()
    else if (this.#source?.isWaiting === true) {
      this.#stop()
      this.#settle({ kind: 'unsent' })
    } else this.#orphanTimer ??= setTimeout(() => this.#giveUp(), this.#options.patienceMs)
  }

  informational(): void {
    // Renders send none.
  }

  whole(head: ResponseHead, body: Uint8Array, facts: CacheFacts | undefined): void {
    this.#finish()
    const client = this.#client
    if (body.byteLength > this.#options.maxBodyBytes) {
      client?.sink.whole(head, body, facts)
      this.#settle({ kind: 'unkept', detail: 'size', isFailure: false })
      return
    }
    // One copy for the store, this client and those who wait.
    const made = { head, facts, body: Buffer.from(body) }
    if (client?.takesWhole(made) === false) client.sink.whole(head, made.body, facts)
    this.#settle({ kind: 'made', made })
  }

  head(head: ResponseHead): void {
    this.#head = head
    this.#client?.sink.head(head, undefined)
    const refusal = refusalOfHead(head.status, head.headers)
    if (refusal !== undefined) this.#unkept(refusal, head.status >= 500)
    // Events for one client may come for days: others get their own.
    else this.#streamTimer = setTimeout(() => this.#unkept('stream', false), this.#options.patienceMs)
  }

  chunk(bytes: Uint8Array): boolean {
    if (!this.#isSettled && !this.#copy.add(Buffer.from(bytes))) this.#unkept('size', false)
    const takesMore = this.#client?.sink.chunk(bytes) !== false
    // A slow client must not hold up the others: what it does not take yet is bounded by the copy.
    return takesMore || !this.#isSettled
  }

  end(trailers: HeaderList, facts: CacheFacts | undefined): void {
    this.#finish()
    this.#client?.sink.end(trailers, facts)
    if (this.#head === undefined) return
    this.#settle({ kind: 'made', made: { head: this.#head, facts, body: this.#copy.whole() } })
  }

  fail(error: Error): void {
    this.#finish()
    this.#failed(error)
  }

  #failed(error: Error): void {
    const client = this.#client
    this.#settle({ kind: 'failed', error })
    if (client !== undefined && (this.#head !== undefined || !client.takesFailure(error))) client.sink.fail(error)
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
    this.#source?.abort()
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
