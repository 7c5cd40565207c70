import { type Clock, systemClock } from '@svc/core'
import type { BodyWriter, HeaderList, HttpExchange, ResponseHead, StreamOptions } from '@svc/http'

/** How fast a response may be sent. */
export interface Pace {
  readonly bytesPerSecond: number
  /** Bytes at its beginning that are not limited. */
  readonly freeBytes: number
}

interface PacedOptions {
  readonly pace: Pace
  readonly clock: Pick<Clock, 'after' | 'monotonic'>
  /** Returns true once the client is gone. */
  readonly isOver: () => boolean
}

interface Chunk {
  readonly bytes: Uint8Array
  readonly onUnused: (() => void) | undefined
}

/** Parts of a second in which something is sent. */
const STEPS = 10

/** Sends a body no faster than its pace: as with nginx, the bytes of a second may go at the beginning of it. */
class PacedWriter implements BodyWriter {
  readonly #writer: BodyWriter
  readonly #options: PacedOptions
  readonly #startedAt: number
  #chunks: Chunk[] = []
  #sent = 0
  #cancel: (() => void) | undefined
  #isBlocked = false
  #end: { readonly trailers: HeaderList | undefined } | undefined
  #onDrain: (() => void) | undefined

  constructor(writer: BodyWriter, options: PacedOptions) {
    this.#writer = writer
    this.#options = options
    this.#startedAt = options.clock.monotonic()
    writer.onDrain(() => {
      this.#isBlocked = false
      this.#pump()
    })
  }

  write(bytes: Uint8Array, onUnused?: () => void): boolean {
    this.#chunks.push({ bytes, onUnused })
    this.#send()
    return this.#chunks.length === 0 && !this.#isBlocked
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  end(bytes?: Uint8Array, trailers?: HeaderList): void {
    this.#end = { trailers }
    if (bytes !== undefined) this.#chunks.push({ bytes, onUnused: undefined })
    this.#send()
  }

  abort(): void {
    this.#drop()
    this.#writer.abort()
  }

  #pump(): void {
    this.#send()
    if (this.#chunks.length === 0 && !this.#isBlocked && this.#end === undefined) this.#onDrain?.()
  }

  #send(): void {
    if (this.#options.isOver()) this.#drop()
    let first = this.#chunks[0]
    while (first !== undefined && !this.#isBlocked && this.#cancel === undefined) {
      const allowed = this.#allowed()
      if (allowed <= 0) this.#wait(-allowed)
      else first = this.#sendPart(first, allowed)
    }
    if (first === undefined && this.#end !== undefined) {
      this.#writer.end(undefined, this.#end.trailers)
      this.#end = undefined
    }
  }

  /** @returns the chunk that is the first now */
  #sendPart({ bytes, onUnused }: Chunk, allowed: number): Chunk | undefined {
    const isWhole = bytes.byteLength <= allowed
    const part = isWhole ? bytes : bytes.subarray(0, allowed)
    if (isWhole) this.#chunks.shift()
    else this.#chunks[0] = { bytes: bytes.subarray(allowed), onUnused }
    this.#sent += part.byteLength
    this.#isBlocked = !this.#writer.write(part, isWhole ? onUnused : undefined)
    return this.#chunks[0]
  }

  /** Bytes that may be sent now; 0 or less: none. */
  #allowed(): number {
    const { pace, clock } = this.#options
    const seconds = (clock.monotonic() - this.#startedAt) / 1000 + 1
    return Math.floor(pace.freeBytes + pace.bytesPerSecond * seconds) - this.#sent
  }

  #wait(missing: number): void {
    const { pace, clock } = this.#options
    const bytes = missing + Math.max(1, pace.bytesPerSecond / STEPS)
    this.#cancel = clock.after(Math.ceil((bytes * 1000) / pace.bytesPerSecond), () => {
      this.#cancel = undefined
      this.#pump()
    })
  }

  #drop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (const { onUnused } of this.#chunks) onUnused?.()
    this.#chunks = []
  }
}

/** A request whose response may have a pace. */
interface PacedRequest {
  readonly exchange: Pick<HttpExchange, 'respond' | 'stream'>
  readonly pace: (() => Pace | undefined) | undefined
  readonly hasEnded: boolean
}

function atPace(request: PacedRequest, writer: BodyWriter, pace: Pace): BodyWriter {
  return new PacedWriter(writer, { pace, clock: systemClock, isOver: () => request.hasEnded })
}

/** Sends a complete response, at the pace of its request if that has one. */
export function respondAtPace(request: PacedRequest, head: ResponseHead, body: Uint8Array | undefined, sendsBody: boolean): void {
  const pace = sendsBody ? request.pace?.() : undefined
  if (pace === undefined || body === undefined) request.exchange.respond(head, body)
  // The body may be lent for this call alone.
  else atPace(request, request.exchange.stream(head, { length: body.byteLength }), pace).end(Buffer.from(body))
}

/** Sends the head of a streamed response, whose body goes at the pace of its request if that has one. */
export function streamAtPace(
  request: PacedRequest,
  head: ResponseHead,
  options: StreamOptions | undefined,
  sendsBody: boolean,
): BodyWriter {
  const writer = request.exchange.stream(head, options)
  const pace = sendsBody ? request.pace?.() : undefined
  return pace === undefined ? writer : atPace(request, writer, pace)
}
