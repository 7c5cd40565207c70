import assert from 'node:assert/strict'
import { withDeadline } from '@svc/core'
import type { BodyWriter, HttpExchange, HttpRequest, RequestBody, ResponseHead, StreamOptions } from '@svc/http'

/** Response as a test client received it. */
export interface Recorded {
  readonly head: ResponseHead
  readonly body: Buffer
  readonly isAborted: boolean
}

/** How the client at the other end behaves. */
export interface ClientBehaviour {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
  /** Called for each chunk; `hold` makes the writer wait until the returned function is called. */
  readonly onChunk?: (chunk: Uint8Array, exchange: RecordedExchange) => 'go' | 'hold'
}

const noBody: RequestBody = {
  isPresent: false,
  length: undefined,
  read: (_onChunk, onEnd) => onEnd(undefined),
}

/** An exchange that keeps what is written to it, in the smallest form that file and compression tests need. */
export class RecordedExchange implements HttpExchange {
  readonly body = noBody
  readonly request: HttpRequest
  readonly #behaviour: ClientBehaviour
  readonly #done: PromiseWithResolvers<Recorded> = Promise.withResolvers<Recorded>()
  readonly #chunks: Uint8Array[] = []
  #head: ResponseHead | undefined
  #length: number | undefined
  #isOver = false
  #onDrain: (() => void) | undefined
  #onClosed: ((isAborted: boolean) => void) | undefined

  constructor(behaviour: ClientBehaviour = {}) {
    this.#behaviour = behaviour
    const { method = 'GET', headers = {}, query = '' } = behaviour
    this.request = {
      method,
      target: '/',
      rawPath: '/',
      query,
      path: '/',
      scheme: 'http',
      host: 'a.test',
      httpVersion: '1.1',
      remoteAddress: '127.0.0.1',
      listener: 'test',
      headers: Object.entries(headers),
      header: (name) => headers[name],
    }
  }

  get isAnswered(): boolean {
    return this.#head !== undefined
  }

  /** Bytes written so far. */
  get written(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  /** The whole response, once it has ended or was cut. */
  response(): Promise<Recorded> {
    return withDeadline(this.#done.promise, 60_000, 'the response')
  }

  respond(head: ResponseHead, body?: Uint8Array): void {
    this.#begin(head)
    if (body !== undefined) this.#chunks.push(body)
    this.#finish(false)
  }

  stream(head: ResponseHead, options?: StreamOptions): BodyWriter {
    this.#begin(head)
    this.#length = options?.length
    return {
      write: (chunk) => this.#write(chunk),
      onDrain: (listener) => {
        this.#onDrain = listener
      },
      end: (chunk) => {
        if (chunk !== undefined) this.#write(chunk)
        this.#finish(false)
      },
      abort: () => this.#finish(true),
    }
  }

  onClosed(listener: (isAborted: boolean) => void): void {
    assert.equal(this.#onClosed, undefined, 'at most one listener')
    this.#onClosed = listener
  }

  liftAnswerLimit(): void {
    // There is none here.
  }

  liftBodyLimit(): void {
    // The same.
  }

  /** The client takes more. */
  drain(): void {
    this.#onDrain?.()
  }

  /** The client goes away. */
  disconnect(): void {
    this.#finish(true)
  }

  #begin(head: ResponseHead): void {
    assert.equal(this.#head, undefined, 'answered once')
    this.#head = head
  }

  #write(chunk: Uint8Array): boolean {
    if (this.#isOver) return true
    this.#chunks.push(chunk)
    return this.#behaviour.onChunk?.(chunk, this) !== 'hold'
  }

  #finish(isAborted: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    const body = this.written
    const isWhole = isAborted || this.request.method === 'HEAD' || this.#length === undefined || this.#length === body.byteLength
    if (!isWhole || this.#head === undefined) this.#done.reject(new Error(`${body.byteLength} bytes in place of ${this.#length}`))
    else this.#done.resolve({ head: this.#head, body, isAborted })
    this.#onClosed?.(isAborted)
  }
}

/** Value of a response field. */
export function fieldOf(head: ResponseHead, name: string): string | undefined {
  return head.headers.find(([field]) => field.toLowerCase() === name)?.[1]
}
