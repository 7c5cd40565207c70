import { asError } from '@svc/core'
import {
  type BodyAck,
  BodyBuffer,
  BodyDelivery,
  type BodyStore,
  type HeaderList,
  type RequestBody,
  type ResponseHead,
  type ResponseSink,
  type ResponseSource,
  SpoolFile,
  wholeBody,
} from '@svc/http'
import type { CallSettings } from '../http/call-settings.ts'
import { HttpCall } from '../http/http-call.ts'
import type { OriginRequest } from '../origin/origin.ts'

/** How much of one response waits in a file at most; past that its application waits too. */
const MAX_WAITING_BYTES = 1024 * 1024 * 1024
/** Bytes of a request body kept in memory; longer bodies go to a file. */
const MAX_REQUEST_MEMORY_BYTES = 64 * 1024

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
  /** The body of the request. */
  #spool: BodyBuffer | undefined
  #sending: BodyDelivery | undefined
  /** The response, from the first bytes on that the sink did not take at once. */
  #waiting: BodyBuffer | undefined
  #delivery: BodyDelivery | undefined
  /** The sink takes no more until `resume`. */
  #isHeld = false
  #trailers: HeaderList = []
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
    if (body?.isPresent === true) this.#spoolRequest(body)
    else this.#send(this.#request)
  }

  abort(): void {
    if (this.#isOver) return
    this.#finish()
    this.#call?.abort()
  }

  resume(): void {
    this.#isHeld = false
    this.#delivery?.resume()
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
    if (this.#isHeld) this.#waiting ??= this.#beginToWait()
    if (this.#waiting !== undefined) return this.#waiting.add(bytes)
    this.#isHeld = !this.#sink.chunk(bytes)
    return true
  }

  end(trailers: HeaderList): void {
    this.#trailers = trailers
    if (this.#waiting === undefined) this.#ended()
    else this.#waiting.end()
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#finish()
    this.#sink.fail(error)
  }

  #beginToWait(): BodyBuffer {
    const buffer = new BodyBuffer({
      blocks: this.#store.blocks,
      keeps: 'untaken',
      memoryBytes: 0,
      maxBytes: MAX_WAITING_BYTES,
      // On a full disk, or where no file can be made, the application has to wait.
      openFile: () => SpoolFile.open(this.#store.dir(), true),
      onRoom: () => this.#call?.resume(),
    })
    this.#delivery = new BodyDelivery(buffer, {
      chunk: (bytes) => this.#sink.chunk(bytes),
      end: () => this.#ended(),
      fail: (error) => {
        this.#call?.abort()
        this.fail(error)
      },
    })
    this.#delivery.start(true)
    return buffer
  }

  #ended(): void {
    if (this.#isOver) return
    this.#finish()
    this.#sink.end(this.#trailers)
  }

  /** Takes in the body of the request, with writes that do not block: its sender waits for them. */
  #spoolRequest(body: RequestBody): void {
    const acks: BodyAck[] = []
    const release = () => {
      for (const ack of acks.splice(0)) ack(true)
    }
    const failed = (error: Error) => {
      this.fail(error)
      release()
    }
    const begin = () =>
      new BodyBuffer({
        blocks: this.#store.blocks,
        keeps: 'all',
        memoryBytes: MAX_REQUEST_MEMORY_BYTES,
        maxBytes: Number.POSITIVE_INFINITY,
        openFile: () => SpoolFile.open(this.#store.dir(), false),
        onNotStored: (error) => failed(asError(error)),
        onRoom: release,
      })
    let whole: Uint8Array | undefined
    body.read(
      (chunk, ack) => {
        if (this.#isOver) {
          ack(true)
          return
        }
        if (chunk.byteLength === body.length && body.length <= MAX_REQUEST_MEMORY_BYTES) {
          whole = chunk
          ack()
          return
        }
        this.#spool ??= begin()
        const missing = body.length === undefined ? undefined : body.length - this.#spool.bytes
        if (this.#spool.add(chunk, missing) || this.#isOver) ack(true)
        else acks.push(ack)
      },
      (error) => {
        if (this.#isOver) return
        if (error !== undefined) {
          failed(error)
          return
        }
        if (whole === undefined) this.#spool ??= begin()
        const spooled = whole === undefined ? this.#spool && this.#spooled(this.#spool) : wholeBody(whole)
        this.#send({ ...this.#request, body: spooled })
      },
    )
  }

  #send(request: OriginRequest): void {
    new HttpCall(this.#settings, request, this).start()
  }

  #finish(): void {
    this.#isOver = true
    this.#delivery?.abort()
    this.#sending?.abort()
    this.#spool?.release()
  }

  /** The body of the request, which has come whole, to be read once. */
  #spooled(spool: BodyBuffer): RequestBody {
    spool.end()
    return {
      isPresent: true,
      length: spool.bytes,
      read: (onChunk, onEnd) => {
        let isAcked = false
        const ack = () => {
          isAcked = true
          delivery.resume()
        }
        const delivery = new BodyDelivery(spool, {
          chunk(bytes) {
            isAcked = false
            // They are lent, and the receiver may send them later.
            onChunk(Buffer.from(bytes), ack)
            return isAcked
          },
          end: () => onEnd(undefined),
          fail: onEnd,
        })
        this.#sending = delivery
        delivery.start()
      },
    }
  }
}
