import type { L0Offer } from '@svc/cache'
import { asError } from '@svc/core'
import type { BodyWriter, ClientInfo, HttpExchange, HttpRequest, ResponseHead } from '@svc/http'
import { compressComplete, compressStream, type Encode } from '../compression/index.ts'

/** The request that an offer is made for. */
export interface OfferingRequest {
  readonly request: HttpRequest
  readonly client: ClientInfo
  /** Number of the generation that answers. */
  readonly generation: number
  /** Id of the site. */
  readonly site: string
  readonly pathGroup: string
  /** True if requests for the same are written in the access log. */
  readonly isAccessLogged: boolean
  /** True if another spelling of the same path may be answered otherwise. */
  readonly isOfSpelling: boolean
}

/** A response that L0 wants, on its way to the client. */
export interface L0Ticket {
  /** Largest body that is kept. */
  readonly maxBytes: number
  /**
   * Requests the response for L0 alone, since the client gets less of it. False: it is cached already, or in flight.
   */
  beginFill(): boolean
  /** True if a response with this head would be kept now. */
  mayStore(head: ResponseHead): boolean
  /** Keeps the response if it still may be kept. The body is copied. */
  store(head: ResponseHead, body: Uint8Array): void
  /** Must be called once nothing is to be stored any more; again it does nothing. */
  end(): void
}

/** Takes in answers for L0. Owned by the pipeline; all calls are synchronous and throw nothing. */
export interface L0Intake {
  /** True if L0 is in use. */
  readonly isEnabled: boolean
  /** A response to this request is in flight. Undefined: L0 does not admit it, mostly because it is requested for the first time. */
  ticketFor(offering: OfferingRequest, offer: L0Offer): L0Ticket | undefined
}

/** Dependencies of a fill. */
interface L0FillOptions {
  readonly ticket: L0Ticket
  /** The request that gave rise to it. */
  readonly request: Pick<HttpRequest, 'header'>
  /** Adds the fields of every response to the request. */
  readonly finalHead: (head: ResponseHead) => ResponseHead
  /** True if it may be compressed. */
  readonly mayCompress: boolean
  /** Called when the body could not be compressed. */
  readonly onProblem: (error: Error) => void
}

/** A response that its client does not get whole. */
interface UnsentWhole {
  readonly head: ResponseHead
  /** Length of its body as it is, before compression. */
  readonly bytes: number
  /** Sends it, at once or later. False: it could not be sent. */
  send(taker: L0Fill): boolean
}

/** The way of one response into L0: it is offered, and copied while it is sent, or made whole beside the one that is sent. */
export class L0Capture {
  #isWithdrawn = false
  #ticket: L0Ticket | undefined
  #fill: L0Fill | undefined
  /** A streamed response as far as it has been sent. */
  #copy: { readonly head: ResponseHead; readonly body: BodyCopy } | undefined

  /** True if the response is kept out of L0. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn
  }

  /** Must not be called once it is withdrawn. @returns true if L0 wants the response */
  offer(intake: L0Intake, offering: OfferingRequest, offer: L0Offer): boolean {
    this.#ticket?.end()
    this.#ticket = intake.ticketFor(offering, offer)
    return this.#ticket !== undefined
  }

  /** Has the whole response made that was offered, where the client gets less of it. */
  fill({ head, bytes, send }: UnsentWhole, options: Omit<L0FillOptions, 'ticket'>): void {
    const ticket = this.#ticket
    this.#ticket = undefined
    if (ticket === undefined) return
    if (bytes > ticket.maxBytes || !ticket.mayStore(options.finalHead(head)) || !ticket.beginFill()) {
      ticket.end()
      return
    }
    const fill = new L0Fill({ ...options, ticket })
    this.#fill = fill
    try {
      if (!send(fill)) fill.drop()
    } catch (error) {
      fill.drop()
      options.onProblem(asError(error))
    }
  }

  /** Keeps the response out of L0 for good. */
  withdraw(): void {
    this.#isWithdrawn = true
    this.#end()
    this.#fill?.drop()
  }

  /** A complete response is about to be sent. `body`: undefined where the client gets none of it. */
  store(head: ResponseHead, body: Uint8Array | undefined): void {
    if (body !== undefined) this.#ticket?.store(head, body)
    this.#end()
  }

  /** A response of so many bytes is about to be streamed. */
  startCopy(head: ResponseHead, bytes: number): void {
    const ticket = this.#ticket
    if (ticket === undefined) return
    if (bytes > ticket.maxBytes) this.#end()
    else this.#copy = { head, body: new BodyCopy(ticket.maxBytes) }
  }

  add(chunk: Uint8Array): void {
    if (this.#copy?.body.add(Buffer.from(chunk)) === false) this.#end()
  }

  /** The exchange has ended. */
  closed(isAborted: boolean): void {
    if (!isAborted && this.#copy !== undefined) this.#ticket?.store(this.#copy.head, this.#copy.body.whole())
    this.#end()
  }

  #end(): void {
    this.#ticket?.end()
    this.#ticket = undefined
    this.#copy = undefined
  }
}

/**
 * Takes the whole response in the place of a client that gets less of it, and hands it to L0 in the coding that such a client
 * gets with a plain GET. Ends its ticket as soon as nothing more is to come.
 */
export class L0Fill implements Pick<HttpExchange, 'respond' | 'stream' | 'onClosed'> {
  readonly request: Pick<HttpRequest, 'method' | 'header'>
  readonly #options: L0FillOptions
  #onClosed: ((isAborted: boolean) => void) | undefined

  constructor(options: L0FillOptions) {
    const { request } = options
    this.request = { method: 'GET', header: (name) => request.header(name) }
    this.#options = options
  }

  /** Takes a complete answer. `encode` may know its body compressed already. */
  respond(head: ResponseHead, body: Uint8Array = empty, encode?: Encode): void {
    const compressed = this.#options.mayCompress ? compressComplete(this.request, head, body, encode) : { head, body }
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
  stream(head: ResponseHead): BodyWriter {
    if (!this.#options.mayCompress) return this.#collect(head)
    return compressStream(this.request, head, (final) => this.#collect(final))
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
