import { type BodyAck, HttpError, type RepeatableBody } from '@svc/http'
import type { CallSender } from '../http/call-settings.ts'
import type { UpstreamConnection } from '../http/connection.ts'
import type { UpstreamTimeouts } from '../http/origin-settings.ts'
import type { CgiContext, OriginRequest } from '../origin/origin.ts'
import { ErrorLines } from './error-lines.ts'
import type { Gateway } from './gateway.ts'
import type { RequestTexts } from './request-texts.ts'

/** Dependencies of a sender. */
interface GatewaySenderOptions {
  readonly gateway: Gateway
  readonly texts: RequestTexts
  readonly connection: UpstreamConnection
  /** True if the application is to leave the connection open behind its response. */
  readonly keepsConnection: boolean
  readonly timeouts: UpstreamTimeouts
  readonly onBodyFailed: (error: Error) => void
}

/** Sends one request to a CGI application, its body no faster than it is taken. */
export class GatewaySender implements CallSender {
  readonly #options: GatewaySenderOptions
  #cgi: CgiContext | undefined
  #lines: ErrorLines | undefined
  /** Of the body, how much is still to come. */
  #missingBytes = 0
  /** Waiting until the socket takes more. */
  #acks: BodyAck[] = []
  isSending = true

  constructor(options: GatewaySenderOptions) {
    this.#options = options
  }

  start(request: OriginRequest, body: RepeatableBody | undefined): boolean {
    const { texts, connection, keepsConnection } = this.#options
    this.#cgi = request.cgi
    if (!keepsConnection) connection.spoil()
    const text = texts.of(request, keepsConnection)
    if (text === undefined) return false
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
    if (!this.#options.connection.isGone) this.#options.connection.writeText(this.#options.gateway.endOfBody)
    this.#releaseAcks(false)
  }

  drained(): void {
    if (this.isSending) this.#options.connection.allowForever()
    // The socket says so when it has handed all it had to the system.
    this.#releaseAcks(true)
  }

  abandon(): void {
    const { connection, gateway } = this.#options
    connection.writeText(gateway.abort)
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
    const { connection, gateway, timeouts } = this.#options
    // A chunk of nothing would be the end of the body.
    if (bytes.byteLength === 0 || gateway.writeBody(connection, bytes)) {
      ack()
      return
    }
    this.#acks.push(ack)
    connection.allow(timeouts.sendMs, 'the request could not be sent')
  }

  #bodyEnded(error: Error | undefined): void {
    if (!this.isSending) return
    if (error !== undefined) {
      this.#options.onBodyFailed(error)
      return
    }
    if (this.#missingBytes > 0) this.#options.onBodyFailed(wrongLength())
    else {
      this.#options.connection.writeText(this.#options.gateway.endOfBody)
      this.#sent()
    }
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
