import { type BodyAck, HttpError, type RepeatableBody } from '@svc/http'
import type { CallSender } from '../http/call-settings.ts'
import type { UpstreamConnection } from '../http/connection.ts'
import type { UpstreamTimeouts } from '../http/origin-settings.ts'
import type { CgiContext, OriginRequest } from '../origin/origin.ts'
import { ErrorLines } from './error-lines.ts'
import { MAX_CONTENT_BYTES, RECORD, recordHead } from './record.ts'
import { END_OF_BODY, type RequestTexts } from './request-params.ts'

/** Dependencies of a sender. */
interface FastcgiSenderOptions {
  readonly texts: RequestTexts
  readonly connection: UpstreamConnection
  /** True if the application is to leave the connection open behind its response. */
  readonly keepsConnection: boolean
  readonly timeouts: UpstreamTimeouts
  readonly onBodyFailed: (error: Error) => void
}

/** Sends one request to a FastCGI application, its body no faster than it is taken. */
export class FastcgiSender implements CallSender {
  readonly #options: FastcgiSenderOptions
  #cgi: CgiContext | undefined
  #lines: ErrorLines | undefined
  /** Of the body, how much is still to come. */
  #missingBytes = 0
  /** Waiting until the socket takes more. */
  #acks: BodyAck[] = []
  isSending = true

  constructor(options: FastcgiSenderOptions) {
    this.#options = options
  }

  start(request: OriginRequest, body: RepeatableBody | undefined): boolean {
    const { texts, connection, keepsConnection } = this.#options
    this.#cgi = request.cgi
    if (!keepsConnection) connection.spoil()
    const text = texts.of(request, keepsConnection)
    if (body === undefined) {
      connection.writeText(text)
      this.#sent()
      return true
    }
    this.#missingBytes = body.length ?? 0
    connection.cork()
    connection.writeText(text)
    body.read(
      (bytes, ack) => this.#bodyChunk(bytes, ack),
      (error) => this.#bodyEnded(error),
    )
    connection.uncork()
    return true
  }

  /** An application that still waits for the rest of the body learns that none comes. */
  stop(): void {
    this.#lines?.flush()
    if (!this.isSending) return
    this.isSending = false
    if (!this.#options.connection.isGone) this.#options.connection.writeText(END_OF_BODY)
    this.#releaseAcks(false)
  }

  drained(): void {
    if (this.isSending) this.#options.connection.allowForever()
    // The socket says so when it has handed all it had to the system.
    this.#releaseAcks(true)
  }

  abandon(): void {
    this.#options.connection.writeText(recordHead(RECORD.abortRequest, 0))
  }

  diagnostics(bytes: Uint8Array): void {
    this.#lines ??= new ErrorLines((line) => this.#cgi?.onErrorLine(line))
    this.#lines.push(bytes)
  }

  #bodyChunk(bytes: Uint8Array, ack: BodyAck): void {
    if (!this.isSending) {
      ack()
      return
    }
    this.#missingBytes -= bytes.byteLength
    if (this.#missingBytes < 0) {
      ack()
      this.#options.onBodyFailed(wrongLength())
      return
    }
    if (this.#write(bytes)) {
      ack()
      return
    }
    this.#acks.push(ack)
    this.#options.connection.allow(this.#options.timeouts.sendMs, 'the request could not be sent')
  }

  #bodyEnded(error: Error | undefined): void {
    if (!this.isSending) return
    if (error !== undefined) {
      this.#options.onBodyFailed(error)
      return
    }
    if (this.#missingBytes > 0) this.#options.onBodyFailed(wrongLength())
    else {
      this.#options.connection.writeText(END_OF_BODY)
      this.#sent()
    }
  }

  /** In records of the longest kind. A chunk of nothing would be the end of the body. */
  #write(bytes: Uint8Array): boolean {
    const { connection } = this.#options
    let takesMore = true
    connection.cork()
    for (let from = 0; from < bytes.byteLength; from += MAX_CONTENT_BYTES) {
      const content = bytes.subarray(from, from + MAX_CONTENT_BYTES)
      connection.writeText(recordHead(RECORD.stdin, content.byteLength))
      takesMore = connection.write(content)
    }
    connection.uncork()
    return takesMore
  }

  #releaseAcks(areUnused: boolean): void {
    for (const ack of this.#acks.splice(0)) ack(areUnused)
  }

  #sent(): void {
    const { connection, timeouts } = this.#options
    this.isSending = false
    connection.allow(timeouts.readMs, 'no response')
  }
}

function wrongLength(): HttpError {
  return new HttpError('HTTP_ABORTED', 'the length of the request body differs from its Content-Length')
}
