import { asError, codeOf } from '@svc/core'
import { type HeaderList, RepeatableBody, type ResponseSink, type ResponseSource } from '@svc/http'
import { UpstreamError } from '../errors/errors.ts'
import type { OriginRequest } from '../origin/origin.ts'
import { notAPlace } from './addresses.ts'
import type { AnswerHead } from './answer-head.ts'
import type { CallSender, CallSettings } from './call-settings.ts'
import type { ConnectionUser, UpstreamConnection } from './connection.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { Dialing } from './dial.ts'
import { ServerAttempts } from './server-attempts.ts'

/** One request to a group: tries one server after another, until one responds or no more may be tried. */
export class HttpCall implements ResponseSource, ConnectionUser {
  readonly #settings: CallSettings
  readonly #request: OriginRequest
  readonly #sink: ResponseSink
  readonly #body: RepeatableBody | undefined
  readonly #attempts: ServerAttempts
  #dialing: Dialing | undefined
  #connection: UpstreamConnection | undefined
  #sender: CallSender | undefined
  #isReused = false
  /** True if a reused connection was found dead already: then only a new one is trusted. */
  #wantsNew = false
  #hasHead = false
  #isOver = false

  constructor(settings: CallSettings, request: OriginRequest, sink: ResponseSink) {
    this.#settings = settings
    this.#request = request
    this.#sink = sink
    this.#attempts = new ServerAttempts(settings, request)
    this.#body = request.body?.isPresent === true ? new RepeatableBody(request.body) : undefined
  }

  /** Sends the request. To be called once. */
  start(): void {
    this.#sink.attach(this)
    this.#request.trail?.enter()
    if (this.#isOver) return
    const known = this.#settings.group.prepare()
    if (known === undefined) this.#next(undefined)
    else
      known.then(
        () => this.#isOver || this.#next(undefined),
        (error) => this.#fail(asError(error)),
      )
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#dialing?.abort()
    if (this.#connection !== undefined) this.#sender?.abandon()
    this.#connection?.destroy()
    this.#stopSending()
    this.#attempts.release('passed')
    this.#request.trail?.ended()
  }

  resume(): void {
    if (!this.#isOver) this.#connection?.resume()
  }

  interim(head: AnswerHead): void {
    this.#allowReading()
    if (head.status !== 100) this.#sink.informational(head)
  }

  head(head: AnswerHead, length: number | undefined, body: Uint8Array | undefined): void {
    const { trail } = this.#request
    trail?.answered(head.status)
    if (this.#attempts.leaves(head.status, this.#maySendAgain)) {
      trail?.ended()
      this.#leaveConnection()
      this.#next(undefined)
      return
    }
    this.#hasHead = true
    // A response to HEAD says the length of a body that it has not got: `ended` follows.
    if (body === undefined || this.#request.method === 'HEAD') {
      this.#allowReading()
      if (!head.keepsAlive || head.status >= 400) this.#stopSending()
      this.#sink.head(head, length)
      return
    }
    trail?.received(body.byteLength)
    this.#finish()
    this.#sink.whole(head, body)
  }

  data(bytes: Uint8Array): boolean {
    this.#request.trail?.received(bytes.byteLength)
    const takesMore = this.#sink.chunk(bytes)
    if (this.#isOver) return true
    this.#allowReading()
    return takesMore
  }

  diagnostics(bytes: Uint8Array): void {
    this.#sender?.diagnostics(bytes)
  }

  ended(trailers: HeaderList): void {
    if (this.#isOver) return
    this.#finish()
    this.#sink.end(trailers)
  }

  drained(): void {
    this.#sender?.drained()
  }

  broken(error: UpstreamError): void {
    if (this.#isOver) return
    this.#connection = undefined
    this.#stopSending()
    if (this.#hasHead) {
      this.#attempts.release('answered')
      this.#fail(new UpstreamError('UPSTREAM_CUT', error.message, { cause: error }))
    } else if (this.#isStale(error)) {
      this.#wantsNew = true
      this.#request.trail?.failed(error)
      this.#connect()
    } else {
      this.#next(error)
    }
  }

  /** A connection that the server closed while it was idle: that says nothing about the server (RFC 9112 section 9.3.1). */
  #isStale(error: UpstreamError): boolean {
    return this.#isReused && error.code === 'UPSTREAM_UNREACHABLE' && this.#maySendAgain
  }

  /** True if all that was sent of the request may be sent once more. */
  get #maySendAgain(): boolean {
    return this.#sender === undefined || (this.#attempts.isRepeatable && this.#body?.isRepeatable !== false)
  }

  /** Tries the next server, after this failure of the one before. */
  #next(failure: UpstreamError | undefined): void {
    if (failure !== undefined) this.#request.trail?.failed(failure)
    const next = this.#attempts.next(failure, this.#maySendAgain)
    if (next instanceof UpstreamError) {
      if (next !== failure) this.#request.trail?.failed(next, this.#settings.group.spec.name)
      this.#fail(next)
    } else this.#connect()
  }

  #connect(): void {
    const peer = this.#attempts.current
    if (peer === undefined) return
    this.#request.trail?.tries(peer.spec.address)
    const { timeouts } = this.#settings
    const pool = this.#settings.pool(peer)
    if (pool === undefined) {
      this.#next(notAPlace(peer.spec.address))
      return
    }
    const kept = this.#wantsNew ? undefined : pool.take(this.#attempts.isRepeatable && this.#body === undefined)
    this.#isReused = kept !== undefined
    if (kept !== undefined) {
      this.#send(kept, pool)
      return
    }
    this.#dialing = pool.connect(timeouts.connectMs, {
      connected: (connection) => {
        this.#dialing = undefined
        this.#send(connection, pool)
      },
      failed: (error) => {
        this.#dialing = undefined
        this.#next(error)
      },
    })
  }

  #send(connection: UpstreamConnection, pool: ConnectionPool): void {
    this.#request.trail?.connected()
    this.#connection = connection
    connection.use(this, this.#request.method === 'HEAD')
    const sender = this.#settings.makeSender(connection, pool, (error) => this.#bodyFailed(error))
    this.#sender = sender
    if (sender.start(this.#request, this.#body)) return
    this.#leaveConnection()
    this.#attempts.release('passed')
    this.#fail(new UpstreamError('UPSTREAM_UNREACHABLE', 'cannot write the request: a field or the target is malformed'))
  }

  /** The client left or sent more than it may, or another upstream had the body: this one makes the page of an error. */
  #bodyFailed(error: Error): void {
    if (this.#isOver) return
    this.#leaveConnection()
    this.#attempts.release('passed')
    const message = 'the body of the request has been sent to another upstream'
    const isUsed = codeOf(error) === 'HTTP_MISUSE'
    this.#fail(isUsed ? new UpstreamError('UPSTREAM_UNREACHABLE', message, { cause: error }) : error)
  }

  #allowReading(): void {
    if (this.#sender?.isSending !== true) this.#connection?.allow(this.#settings.timeouts.readMs, 'no response')
  }

  /** The response is complete. */
  #finish(): void {
    this.#isOver = true
    this.#stopSending()
    this.#connection = undefined
    this.#attempts.release('answered')
    this.#request.trail?.ended()
  }

  /** Stops sending the request; the connection ends with the response. */
  #stopSending(): void {
    if (this.#sender?.isSending === true) this.#connection?.spoil()
    this.#sender?.stop()
    this.#body?.detach()
  }

  #leaveConnection(): void {
    this.#stopSending()
    this.#connection?.destroy()
    this.#connection = undefined
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#request.trail?.ended()
    this.#sink.fail(error)
  }
}
