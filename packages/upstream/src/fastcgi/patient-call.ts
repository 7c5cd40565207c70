import { asError } from '@svc/core'
import {
  BodyQueue,
  type BodyStore,
  FILE_ONLY,
  type HeaderList,
  type ResponseHead,
  type ResponseSink,
  type ResponseSource,
} from '@svc/http'
import type { CallSettings } from '../http/call-settings.ts'
import { HttpCall } from '../http/http-call.ts'
import type { OriginRequest } from '../origin/origin.ts'
import { type SpooledBody, spoolBody } from './body-spool.ts'

/** How much of one response waits in a file at most; past that its application waits too. */
const MAX_WAITING_BYTES = 1024 * 1024 * 1024

const nothing = Buffer.alloc(0)

/**
 * One request whose application does not wait for its client: the body of the request is read before it is sent, and the part of the
 * response that the sink does not take yet goes to a file without a name. A process that a slow client holds is one of few.
 */
export class PatientCall implements ResponseSource, ResponseSink {
  readonly #settings: CallSettings
  readonly #request: OriginRequest
  readonly #sink: ResponseSink
  readonly #store: BodyStore
  #call: ResponseSource | undefined
  #body: SpooledBody | undefined
  #queue: BodyQueue | undefined
  /** Behind the queue: bytes that could not be written, and those that came with them. */
  #unwritten: Buffer[] = []
  /** The sink takes no more until `resume`. */
  #isHeld = false
  /** Makes the application wait. */
  #isPaused = false
  /** The application has sent its whole response. */
  #trailers: HeaderList | undefined
  #isOver = false

  constructor(settings: CallSettings, request: OriginRequest, sink: ResponseSink, store: BodyStore) {
    this.#settings = settings
    this.#request = request
    this.#sink = sink
    this.#store = store
  }

  /**
   * Sends the request, once its body has come: applications get its length before it, and one that waited for a slow client would
   * hold a process for so long.
   */
  start(): void {
    this.#sink.attach(this)
    if (this.#isOver) return
    const { body } = this.#request
    if (body?.isPresent !== true) {
      this.#send(this.#request)
      return
    }
    spoolBody(body, this.#store.dir()).then(
      (spooled) => {
        this.#body = spooled
        if (this.#isOver) this.#finish()
        else this.#send({ ...this.#request, body: spooled })
      },
      (error) => {
        if (!this.#isOver) this.fail(asError(error))
      },
    )
  }

  abort(): void {
    if (this.#isOver) return
    this.#finish()
    this.#call?.abort()
  }

  resume(): void {
    this.#isHeld = false
    this.#handOn()
  }

  attach(source: ResponseSource): void {
    this.#call = source
  }

  informational(head: ResponseHead): void {
    this.#sink.informational(head)
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    this.#finish()
    this.#sink.whole(head, body)
  }

  head(head: ResponseHead, length: number | undefined): void {
    this.#sink.head(head, length)
  }

  chunk(bytes: Uint8Array): boolean {
    if (this.#isOver) return true
    if (this.#isHeld || this.#isAnythingWaiting) return this.#keep(bytes)
    this.#isHeld = !this.#sink.chunk(bytes)
    return true
  }

  end(trailers: HeaderList): void {
    this.#trailers = trailers
    this.#handOn()
  }

  fail(error: Error): void {
    this.#finish()
    this.#sink.fail(error)
  }

  get #isAnythingWaiting(): boolean {
    return this.#queue?.isEmpty === false || this.#unwritten.length > 0
  }

  #keep(bytes: Uint8Array): boolean {
    const written = this.#unwritten.length === 0 ? this.#write(bytes) : 0
    if (written < bytes.byteLength) this.#unwritten.push(Buffer.from(bytes.subarray(written)))
    this.#isPaused = this.#unwritten.length > 0 || (this.#queue?.bytes ?? 0) >= MAX_WAITING_BYTES
    return !this.#isPaused
  }

  /** How many bytes the queue has taken. On a full disk, or where no file can be made, the application has to wait. */
  #write(bytes: Uint8Array): number {
    this.#queue ??= this.#makeQueue()
    const queue = this.#queue
    const before = queue.bytes
    try {
      queue.add(bytes, Number.POSITIVE_INFINITY)
    } catch {
      return queue.bytes - before
    }
    return bytes.byteLength
  }

  #makeQueue(): BodyQueue {
    const events = {
      ready: () => this.#handOn(),
      failed: (error: Error) => {
        this.#call?.abort()
        this.fail(error)
      },
    }
    return new BodyQueue(this.#store, events, FILE_ONLY)
  }

  #send(request: OriginRequest): void {
    new HttpCall(this.#settings, request, this).start()
  }

  /** Hands on the bytes that wait, as far as the sink takes them, and the end behind them. */
  #handOn(): void {
    if (this.#isOver) return
    this.#handOnQueue()
    if (this.#isOver) return
    if (this.#queue?.isEmpty === false) {
      this.#letMoreCome()
      return
    }
    while (!this.#isHeld && !this.#isOver && this.#unwritten.length > 0) {
      this.#isHeld = !this.#sink.chunk(this.#unwritten.shift() ?? nothing)
    }
    if (this.#isOver || this.#unwritten.length > 0) return
    if (this.#trailers === undefined) {
      this.#letMoreCome()
    } else {
      this.#finish()
      this.#sink.end(this.#trailers)
    }
  }

  #handOnQueue(): void {
    while (!this.#isHeld && !this.#isOver) {
      const piece = this.#queue?.take()
      if (piece === undefined) return
      this.#isHeld = !this.#sink.chunk(piece.bytes)
      if (piece.block !== undefined) this.#store.blocks.give(piece.block)
    }
  }

  #letMoreCome(): void {
    const isFull = this.#unwritten.length > 0 || (this.#queue?.bytes ?? 0) > MAX_WAITING_BYTES / 2
    if (!this.#isPaused || isFull) return
    this.#isPaused = false
    this.#call?.resume()
  }

  #finish(): void {
    this.#isOver = true
    this.#queue?.close()
    // If it cannot be closed, it is closed already.
    this.#body?.close().catch(() => undefined)
  }
}
