import type { IncomingMessage } from 'node:http'
import { UpstreamError } from '../errors/errors.ts'
import type { AnswerReceiver } from '../http/http-call.ts'
import { LazyTimer } from '../http/lazy-timer.ts'
import { fieldsOf } from './answer-fields.ts'

/** What an upstream answered in place of agreeing, on its way to the client: no faster than that takes it. */
export class Refusal {
  readonly #response: IncomingMessage
  readonly #answer: AnswerReceiver
  readonly #readMs: number
  readonly #timer: LazyTimer

  /** @param readMs how long the upstream may take for each further part */
  constructor(response: IncomingMessage, answer: AnswerReceiver, readMs: number) {
    this.#response = response
    this.#answer = answer
    this.#readMs = readMs
    this.#timer = new LazyTimer(() => {
      this.abort()
      answer.fail(new UpstreamError('UPSTREAM_TIMEOUT', `no more of an answer in ${readMs} ms`))
    })
  }

  /** To be called once. */
  start(): void {
    const response = this.#response
    const { socket } = response
    this.#timer.set(this.#readMs)
    response.on('data', (bytes: Buffer) => this.#received(bytes))
    response.on('end', () => {
      this.#timer.close()
      // The library keeps it for a request that nobody will send.
      socket.destroy()
      this.#answer.end([])
    })
    response.on('error', (error) => {
      this.#timer.close()
      this.#answer.fail(new UpstreamError('UPSTREAM_CUT', error.message, { cause: error }))
    })
    const length = response.headers['content-length']
    const head = { status: response.statusCode ?? 502, headers: fieldsOf(response) }
    this.#answer.head(head, length === undefined ? undefined : Number(length), undefined)
  }

  /** The client takes more. */
  resume(): void {
    this.#timer.set(this.#readMs)
    this.#response.resume()
  }

  /** The client has left. */
  abort(): void {
    this.#timer.close()
    this.#response.destroy()
  }

  #received(bytes: Buffer): void {
    if (this.#answer.data(bytes)) {
      this.#timer.set(this.#readMs)
    } else {
      this.#timer.clear()
      this.#response.pause()
    }
  }
}
