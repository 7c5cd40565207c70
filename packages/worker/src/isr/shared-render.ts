import type { Clock } from '@svc/core'
import type { HeaderList, ResponseHead, ResponseSource } from '@svc/http'
import type { CacheFacts } from '@svc/protocol'
import { WorkerError } from '../errors/errors.ts'
import type { RenderSink, RenderSource } from '../render-client/renderer.ts'
import { BodyCopy } from '../request/l0-fill.ts'
import { type RenderedResponse, refusalOfHead } from './page-entries.ts'

/** The client whose request began the render: a stream reaches it as it comes. */
export interface RenderLeader {
  readonly sink: Omit<RenderSink, 'attach'> & { attach(source: ResponseSource): void }
  /** Deals with a whole response. False: it is sent as it is. */
  takesWhole(response: RenderedResponse): boolean
  /** Deals with a failure before anything was sent. False: the failure is sent. */
  takesFailure(error: Error): boolean
}

/** How a render ended for the requests that share it. Reported once. */
export type RenderEnd =
  | { readonly kind: 'whole'; readonly response: RenderedResponse }
  /** It cannot be stored, though it may still go on to its client. `isFailure`: the next response may be of another kind. */
  | { readonly kind: 'unstorable'; readonly detail: string; readonly isFailure: boolean }
  | { readonly kind: 'failed'; readonly error: Error }
  /** Its client left while it waited for a host: nothing was rendered. */
  | { readonly kind: 'unsent' }

interface SharedRenderOptions {
  /** undefined: the render is for the store alone. */
  readonly leader: RenderLeader | undefined
  readonly maxBodyBytes: number
  /** How long the render goes on when its client has left, and how long a stream may go on to be of use to others. */
  readonly patienceMs: number
  readonly clock: Pick<Clock, 'after'>
  readonly onEnd: (end: RenderEnd) => void
}

/**
 * One render for a client and for all others: streams to the client while a copy is collected, and goes on when the client
 * leaves, as long as the copy may be of use.
 */
export class SharedRender implements RenderSink, ResponseSource {
  readonly #options: SharedRenderOptions
  readonly #copy: BodyCopy
  #leader: RenderLeader | undefined
  #source: RenderSource | undefined
  #head: ResponseHead | undefined
  /** The end was reported. */
  #isSettled = false
  /** The render has ended, or was aborted. */
  #isDone = false
  #cancelOrphan: (() => void) | undefined
  #cancelStream: (() => void) | undefined

  constructor(options: SharedRenderOptions) {
    this.#options = options
    this.#leader = options.leader
    this.#copy = new BodyCopy(options.maxBodyBytes)
  }

  /** True if the response has begun, in pieces. */
  get isStreaming(): boolean {
    return this.#head !== undefined
  }

  attach(source: RenderSource): void {
    this.#source = source
    this.#leader?.sink.attach(this)
  }

  resume(): void {
    this.#source?.resume()
  }

  /** The client has left. */
  abort(): void {
    this.clientLeft()
  }

  /** There is no client, or it has left. */
  clientLeft(): void {
    this.#leader = undefined
    if (this.#isDone) return
    if (this.#isSettled) this.#stop()
    else if (this.#source?.isWaiting === true) {
      this.#stop()
      this.#settle({ kind: 'unsent' })
    } else this.#cancelOrphan ??= this.#options.clock.after(this.#options.patienceMs, () => this.#abandon())
  }

  queued(isWaiting: boolean): void {
    this.#leader?.sink.queued(isWaiting)
  }

  informational(): void {
    // Renders send none.
  }

  whole(head: ResponseHead, body: Uint8Array, facts: CacheFacts | undefined): void {
    this.#done()
    const leader = this.#leader
    if (body.byteLength > this.#options.maxBodyBytes) {
      leader?.sink.whole(head, body, facts)
      this.#settle({ kind: 'unstorable', detail: 'size', isFailure: false })
      return
    }
    // One copy for the store, this client and the waiting requests.
    const response = { head, facts, body: Buffer.from(body) }
    if (leader?.takesWhole(response) === false) leader.sink.whole(head, response.body, facts)
    this.#settle({ kind: 'whole', response })
  }

  head(head: ResponseHead): void {
    this.#head = head
    this.#leader?.sink.head(head, undefined)
    const refusal = refusalOfHead(head)
    const { clock, patienceMs } = this.#options
    if (refusal !== undefined) this.#unstorable(refusal, head.status >= 500)
    // Events for one client may come for days: others get their own.
    else this.#cancelStream = clock.after(patienceMs, () => this.#unstorable('stream', false))
  }

  chunk(bytes: Uint8Array): boolean {
    if (!this.#isSettled && !this.#copy.add(Buffer.from(bytes))) this.#unstorable('size', false)
    const takesMore = this.#leader?.sink.chunk(bytes) !== false
    // A slow client must not delay the others: its unsent bytes are bounded by the copy.
    return takesMore || !this.#isSettled
  }

  end(trailers: HeaderList, facts: CacheFacts | undefined): void {
    this.#done()
    this.#leader?.sink.end(trailers, facts)
    if (this.#head === undefined) return
    this.#settle({ kind: 'whole', response: { head: this.#head, facts, body: this.#copy.whole() } })
  }

  fail(error: Error): void {
    this.#done()
    this.#failed(error)
  }

  #failed(error: Error): void {
    const leader = this.#leader
    this.#settle({ kind: 'failed', error })
    if (leader !== undefined && (this.isStreaming || !leader.takesFailure(error))) leader.sink.fail(error)
  }

  #unstorable(detail: string, isFailure: boolean): void {
    this.#settle({ kind: 'unstorable', detail, isFailure })
    if (this.#leader === undefined) this.#stop()
  }

  #abandon(): void {
    this.#stop()
    this.#settle({
      kind: 'failed',
      error: new WorkerError(
        'WORKER_RENDER_ABANDONED',
        'the client disconnected and the render did not finish in time for the waiting requests',
      ),
    })
  }

  #stop(): void {
    this.#done()
    this.#source?.abort()
  }

  #done(): void {
    this.#isDone = true
    this.#cancelOrphan?.()
  }

  #settle(end: RenderEnd): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#cancelStream?.()
    this.#options.onEnd(end)
  }
}
