import { type BodyAck, HttpError, type RepeatableBody } from '@svc/http'
import type { OriginRequest } from '../origin/origin.ts'
import type { CallSender } from './call-settings.ts'
import type { UpstreamConnection } from './connection.ts'
import type { HttpOriginSettings } from './origin-settings.ts'
import type { RequestFraming, RequestHeads } from './request-head.ts'

const END_OF_CHUNKS = '0\r\n\r\n'
/** Methods for which a missing body is sent as Content-Length 0 (RFC 9110 section 8.6). */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** State shared by the requests to one upstream. */
interface SenderParts {
  readonly settings: HttpOriginSettings
  readonly heads: RequestHeads
  /** True if a connection may serve another request. */
  readonly keepsAlive: boolean
}

/** Sends one request on one connection, its body no faster than the server takes it. */
export class RequestSender implements CallSender {
  readonly #parts: SenderParts
  readonly #connection: UpstreamConnection
  readonly #onBodyFailed: (error: Error) => void
  #isChunked = false
  /** Of a body of known length, how much is still to come. */
  #missingBytes = 0
  /** Waiting until the socket takes more. */
  #acks: BodyAck[] | undefined
  isSending = true

  constructor(parts: SenderParts, connection: UpstreamConnection, onBodyFailed: (error: Error) => void) {
    this.#parts = parts
    this.#connection = connection
    this.#onBodyFailed = onBodyFailed
  }

  start(request: OriginRequest, body: RepeatableBody | undefined): boolean {
    const framing = this.#framingOf(request, body)
    const head = this.#parts.heads.of(request, framing)
    if (head === undefined) return false
    if (!this.#parts.keepsAlive) this.#connection.spoil()
    if (body === undefined) {
      this.#connection.writeText(head)
      this.#done()
      return true
    }
    this.#isChunked = framing === 'chunked'
    this.#missingBytes = body.length ?? 0
    this.#connection.cork()
    this.#connection.writeText(head)
    body.read(
      (bytes, ack) => this.#bodyChunk(bytes, ack),
      (error) => this.#bodyEnded(error),
    )
    this.#connection.uncork()
    return true
  }

  stop(): void {
    if (!this.isSending) return
    this.isSending = false
    this.#releaseAcks(false)
  }

  drained(): void {
    if (this.isSending) this.#connection.allowForever()
    // The socket says so when it has handed all it had to the system.
    this.#releaseAcks(true)
  }

  abandon(): void {
    // HTTP/1 says that by the end of the connection.
  }

  diagnostics(): void {
    // HTTP has none.
  }

  #bodyChunk(bytes: Uint8Array, ack: BodyAck): void {
    if (!this.isSending) {
      ack()
      return
    }
    // A chunk of nothing would be the last one.
    if (bytes.byteLength === 0 || this.#writeChunk(bytes)) {
      ack()
      return
    }
    this.#acks ??= []
    this.#acks.push(ack)
    this.#connection.allow(this.#parts.settings.timeouts.sendMs, 'the request could not be sent')
  }

  #bodyEnded(error: Error | undefined): void {
    if (!this.isSending) return
    if (error !== undefined) {
      this.#onBodyFailed(error)
      return
    }
    if (!this.#isChunked && this.#missingBytes !== 0) {
      this.#onBodyFailed(wrongLength())
      return
    }
    if (this.#isChunked) this.#connection.writeText(END_OF_CHUNKS)
    this.#done()
  }

  #releaseAcks(areUnused: boolean): void {
    const acks = this.#acks
    this.#acks = undefined
    if (acks !== undefined) for (const ack of acks) ack(areUnused)
  }

  #writeChunk(bytes: Uint8Array): boolean {
    if (!this.#isChunked) {
      this.#missingBytes -= bytes.byteLength
      // Never more than was declared: it would be read as another request.
      if (this.#missingBytes < 0) {
        this.#onBodyFailed(wrongLength())
        return true
      }
      return this.#connection.write(bytes)
    }
    this.#connection.cork()
    this.#connection.writeText(`${bytes.byteLength.toString(16)}\r\n`)
    this.#connection.write(bytes)
    const takesMore = this.#connection.writeText('\r\n')
    this.#connection.uncork()
    return takesMore
  }

  #framingOf(request: OriginRequest, body: RepeatableBody | undefined): RequestFraming {
    if (body === undefined) return WITH_BODY.has(request.method) ? 0 : 'none'
    return body.length ?? 'chunked'
  }

  #done(): void {
    this.isSending = false
    this.#connection.allow(this.#parts.settings.timeouts.readMs, 'no response')
  }
}

function wrongLength(): HttpError {
  return new HttpError('HTTP_ABORTED', 'the length of the request body differs from its Content-Length')
}
