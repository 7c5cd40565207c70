import { asError } from '@svc/core'
import type { BodyWriter, HttpExchange, HttpRequest, ResponseHead, StreamOptions } from '@svc/http'
import { type CompressionTerms, compressComplete, compressStream, type Encode } from '../compression/index.ts'

/** The place of a response in L0 while it is on its way there. */
interface FillTicket {
  /** Largest body that is stored. */
  readonly maxBytes: number
  /** Stores the response if it still may be stored. The body is copied. */
  store(head: ResponseHead, body: Uint8Array): void
  /** Must be called once nothing is to be stored any more; again it does nothing. */
  end(): void
}

/** Dependencies of a fill. */
export interface L0FillOptions {
  readonly ticket: FillTicket
  /** The request that gave rise to it. */
  readonly request: Pick<HttpRequest, 'header' | 'httpVersion'>
  /** Adds the fields of every response to the request. */
  readonly finalHead: (head: ResponseHead) => ResponseHead
  /** True if it may be compressed. */
  readonly mayCompress: boolean
  /** Undefined: on the terms of the server. */
  readonly compression: CompressionTerms | undefined
  /** Called when the body could not be compressed. */
  readonly onProblem: (error: Error) => void
}

/**
 * Takes the whole response in the place of a client that gets less of it, and hands it to L0 in the coding that such a client
 * gets with a plain GET. Ends its ticket as soon as nothing more is to come.
 */
export class L0Fill implements Pick<HttpExchange, 'respond' | 'stream' | 'onClosed'> {
  readonly request: Pick<HttpRequest, 'method' | 'header' | 'httpVersion'>
  readonly #options: L0FillOptions
  #onClosed: ((isAborted: boolean) => void) | undefined

  constructor(options: L0FillOptions) {
    const { request } = options
    this.request = { method: 'GET', header: (name) => request.header(name), httpVersion: request.httpVersion }
    this.#options = options
  }

  /** Takes a complete answer. `encode` may know its body compressed already. */
  respond(head: ResponseHead, body: Uint8Array = empty, encode?: Encode): void {
    const { mayCompress, compression } = this.#options
    const compressed = mayCompress ? compressComplete(this.request, head, body, compression, encode) : { head, body }
    if (!(compressed instanceof Promise)) {
      this.#store(compressed.head, compressed.body)
      return
    }
    compressed.then(
      (done) => this.#store(done.head, done.body),
      (error) => {
        this.#options.onProblem(asError(error))
        this.drop()
      },
    )
  }

  /** Collects a streamed response. */
  stream(head: ResponseHead, options?: StreamOptions): BodyWriter {
    if (!this.#options.mayCompress) return this.#collect(head)
    return compressStream(this.request, head, this.#options.compression, {
      length: options?.length,
      open: (final) => this.#collect(final),
    })
  }

  onClosed(listener: (isAborted: boolean) => void): void {
    this.#onClosed = listener
  }

  /** Aborts it: its writer is told that it has no reader. */
  drop(): void {
    this.#end(true)
  }

  #collect(head: ResponseHead): BodyWriter {
    const copy = new BodyCopy(this.#options.ticket.maxBytes)
    const add = (chunk: Uint8Array) => {
      if (!copy.add(chunk)) this.drop()
      return true
    }
    return {
      write: add,
      onDrain: () => undefined,
      end: (chunk) => {
        if (chunk !== undefined) add(chunk)
        this.#store(head, copy.whole())
      },
      abort: () => this.drop(),
    }
  }

  /** Does nothing after `drop`, since the ticket has ended. */
  #store(head: ResponseHead, body: Uint8Array): void {
    const { ticket, finalHead } = this.#options
    ticket.store(finalHead(head), body)
    this.#end(false)
  }

  #end(isAborted: boolean): void {
    this.#options.ticket.end()
    const listener = this.#onClosed
    this.#onClosed = undefined
    listener?.(isAborted)
  }
}

const empty = new Uint8Array(0)

/** Collects a copy of a body in pieces, up to a bound. */
export class BodyCopy {
  readonly #maxBytes: number
  #pieces: Uint8Array[] = []
  #bytes = 0
  #isTooLarge = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Takes a piece, which must not change any more. False: the body is too large, and the copy is dropped. */
  add(piece: Uint8Array): boolean {
    this.#bytes += piece.byteLength
    if (this.#bytes > this.#maxBytes) {
      this.#isTooLarge = true
      this.#pieces = []
    }
    if (this.#isTooLarge) return false
    this.#pieces.push(piece)
    return true
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces, this.#bytes)
  }
}
