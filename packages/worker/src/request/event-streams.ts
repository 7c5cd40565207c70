import type { BodyWriter, HeaderList, ResponseHead, StreamOptions } from '@svc/http'

/** End of an event: two line ends in a row, each CRLF, LF or CR (HTML, section 9.2.5). */
const BLANK_LINE = /[\r\n]\r\n|[\r\n]\r|\n\n/g
/** Longest form of a blank line. */
const TAIL_CHARS = 3
/** A comment, which clients pass over. */
const GREETING = Buffer.from(':\n\n')
/** With a `data` line, because an event without one is not dispatched. */
const FAREWELL = Buffer.from('event: close\ndata:\n\n')

/** True if a response is a stream of server-sent events to which an event can be added. */
export function isEventStream({ status, headers }: ResponseHead, options: StreamOptions | undefined): boolean {
  const type = fieldOf(headers, 'content-type')
  const isEvents = type !== undefined && /^text\/event-stream\s*(?:;|$)/i.test(type)
  return isEvents && status === 200 && options?.length === undefined && fieldOf(headers, 'content-encoding') === undefined
}

function fieldOf(headers: HeaderList, name: string): string | undefined {
  return headers.find(([candidate]) => candidate.toLowerCase() === name)?.[1]
}

/** A stream of events on its way to its client. */
export interface EventStream extends BodyWriter {
  /** Its exchange has ended. */
  left(): void
}

/**
 * Streams of events that are open. Their heads are sent with their first bytes; where no event comes at once, a comment takes its
 * place, so that clients know that they are connected. They have no end of their own: when the server drains, each of them is ended behind the event
 * that is being sent, with an event of the type `close`, so that clients reconnect.
 */
export class EventStreams {
  readonly #open = new Set<EndableStream>()
  #isEnding = false

  /** Passes a stream through; `writer` takes its bytes before they are compressed. */
  join(writer: BodyWriter): EventStream {
    const stream = new EndableStream(writer, (over) => this.#open.delete(over))
    this.#open.add(stream)
    // Not now: the caller that starts the stream does not have it yet.
    setImmediate(() => {
      stream.begin()
      if (this.#isEnding) stream.finish()
    })
    return stream
  }

  /** Ends those that are open, and those that begin from now on. Final. */
  end(): void {
    this.#isEnding = true
    for (const stream of [...this.#open]) stream.finish()
  }
}

class EndableStream implements EventStream {
  readonly #writer: BodyWriter
  readonly #onOver: (stream: EndableStream) => void
  /** The last bytes that were written. The beginning is where an event may begin. */
  #tail = '\n\n'
  #hasBegun = false
  #isFinishing = false
  #isOver = false

  constructor(writer: BodyWriter, onOver: (stream: EndableStream) => void) {
    this.#writer = writer
    this.#onOver = onOver
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isOver) return true
    this.#hasBegun = true
    const end = this.#isFinishing ? this.#endOfEvent(chunk) : undefined
    if (end !== undefined) {
      this.#sayGoodbye(chunk.subarray(0, end))
      return true
    }
    this.#tail = `${this.#tail}${latin1(chunk.subarray(-TAIL_CHARS))}`.slice(-TAIL_CHARS)
    return this.#writer.write(chunk)
  }

  onDrain(listener: () => void): void {
    this.#writer.onDrain(listener)
  }

  end(chunk?: Uint8Array, trailers?: HeaderList): void {
    if (this.#isOver) return
    this.left()
    this.#writer.end(chunk, trailers)
  }

  abort(): void {
    if (this.#isOver) return
    this.left()
    this.#writer.abort()
  }

  left(): void {
    this.#isOver = true
    this.#onOver(this)
  }

  /** Sends something if nothing was sent yet. */
  begin(): void {
    if (!this.#hasBegun) this.write(GREETING)
  }

  /** Ends the stream now, or after the event that was sent in part. */
  finish(): void {
    this.#isFinishing = true
    const isBetweenEvents = [...this.#tail.matchAll(BLANK_LINE)].some(
      ({ index, 0: { length } }) => index + length === this.#tail.length,
    )
    if (isBetweenEvents) this.#sayGoodbye(new Uint8Array(0))
  }

  #sayGoodbye(rest: Uint8Array): void {
    this.end(Buffer.concat([rest, FAREWELL]))
  }

  /** Index behind the first blank line that ends in `chunk`. */
  #endOfEvent(chunk: Uint8Array): number | undefined {
    const before = this.#tail.length
    const ends = [...`${this.#tail}${latin1(chunk)}`.matchAll(BLANK_LINE)].map(
      ({ index, 0: { length } }) => index + length - before,
    )
    return ends.find((end) => end > 0)
  }
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}
